// Jobs: a card with the progress of one job, and a list that refreshes while jobs run.

import { get, isAbort, post } from "../api.js";
import { fill, h } from "../dom.js";
import { since, took, whole } from "../format.js";
import { tableLink } from "../router.js";
import { empty, failure, skeleton } from "./states.js";

const QUICK = 300;
const SLOW = 2000;

const isOver = (job) => !["queued", "running"].includes(job.state);

/** Polls a job until it ends; `show` is called with each state. */
export async function watch(job, signal, show) {
  show(job);
  for (let wait = QUICK; !isOver(job) && !signal.aborted; wait = Math.min(SLOW, wait * 1.3)) {
    await new Promise((resolve) => setTimeout(resolve, wait));
    try {
      job = await get(["jobs", job.id], {}, { signal });
    } catch (error) {
      if (isAbort(error)) return job;
      if (error.status === 404) throw error;
      continue; // the service may be restarting; if it does not come back, the list shows the error
    }
    if (!signal.aborted) show(job);
  }
  return job;
}

/** A job with its state, progress and result. */
export function jobCard(job, { withTable = false, cancelled } = {}) {
  const name = { warehouse: job.warehouse, database: job.database, table: job.table };
  return h(
    "article.job",
    h(
      "div.row",
      h("strong", job.action.replaceAll("-", " ")),
      job.dry_run ? h("span.badge.plain", "dry run") : null,
      h("span.badge", { class: `state-${job.state}` }, job.state),
      h("span.grow"),
      h("span.muted", since(job.created_millis)),
    ),
    withTable ? h("a", { href: tableLink(name, "maintenance") }, `${job.database}.${job.table}`) : null,
    isOver(job) ? null : progress(job),
    job.summary ? h("p", job.summary) : null,
    job.error ? h("p.went", { role: "alert" }, job.error) : null,
    job.finished_millis && job.started_millis
      ? h("span.muted", "took ", took(job.finished_millis - job.started_millis))
      : null,
    job.can_cancel && !isOver(job) && cancelled
      ? h("button", { type: "button", onclick: () => cancel(job, cancelled) }, "Cancel")
      : null,
  );
}

function progress(job) {
  const { done, total } = job.progress ?? {};
  const bar = h("progress", { "aria-label": "Progress", max: total || null });
  if (total) bar.value = done;
  return h("div.row", bar, h("span.muted", total ? `${whole(done)} of ${whole(total)}` : "working"));
}

async function cancel(job, cancelled) {
  try {
    await post(["jobs", job.id, "cancel"]);
  } finally {
    cancelled();
  }
}

/** The jobs of a table, or all if `of` is empty. */
export function jobList(of, signal) {
  const element = h("div.jobs", skeleton(3));
  let timer = 0;
  const reload = async () => {
    clearTimeout(timer);
    try {
      const { items } = await get(["jobs"], { ...of, limit: 50 }, { signal });
      draw(items);
      if (!items.every(isOver) && !signal.aborted) timer = setTimeout(reload, SLOW / 2);
    } catch (error) {
      if (!isAbort(error) && !signal.aborted) fill(element, failure(error, reload));
    }
  };
  const draw = (items) =>
    fill(
      element,
      items.length
        ? items.map((job) => jobCard(job, { withTable: !of.table, cancelled: reload }))
        : empty("No jobs", "Jobs that are started here or over the REST interface are listed here."),
    );
  signal.addEventListener("abort", () => clearTimeout(timer));
  reload();
  return { element, reload };
}
