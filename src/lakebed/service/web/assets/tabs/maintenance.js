// The actions on a table. Each shows its plan first; then it can be run with the same arguments.

import { post, tablePath } from "../api.js";
import { fill, h } from "../dom.js";
import { ACTIONS } from "../parts/actions.js";
import { choice, valuesOf } from "../parts/fields.js";
import { jobCard, jobList, watch } from "../parts/job_list.js";
import { empty, failure } from "../parts/states.js";
import { go } from "../router.js";

export function showMaintenance(panel, page, signal) {
  if (!page.service.allow_actions) {
    fill(panel, empty("This service is read-only", "It was started without --allow-actions."));
    return;
  }
  const actions = ACTIONS.filter((one) => !one.when || one.when(page.info));
  const action = actions.find((one) => one.id === page.route.params.action) ?? actions[0];
  const jobs = jobList(page.name, signal);
  fill(
    panel,
    h(
      "div.columns",
      h(
        "section",
        h("h2", "Run an action"),
        h(
          "div.card",
          actionForm(action, actions, page, signal, () => jobs.reload()),
        ),
      ),
      h("section", h("h2", "Jobs of this table"), jobs.element),
    ),
  );
}

function actionForm(action, actions, page, signal, changed) {
  const outcome = h("div.outcome", { "aria-live": "polite" });
  const form = h(
    "form.stack",
    {
      oninput: () => fill(outcome), // the plan that was shown does not fit the arguments any more
      onsubmit: (event) => {
        event.preventDefault();
        run(true);
      },
    },
    h("p", action.about),
    action.fields(page.info),
    h("div.buttons", h("button.primary", { type: "submit" }, "Show the plan")),
  );
  if (form.elements.where) form.elements.where.value = page.route.params.where ?? "";
  const run = async (isDry) => {
    const values = { ...valuesOf(form), dry_run: isDry };
    const buttons = [...form.querySelectorAll("button"), ...outcome.querySelectorAll("button")];
    for (const button of buttons) button.disabled = true;
    try {
      const path = tablePath(page.name, "actions", action.id);
      const job = await post(path, values, { branch: page.branch });
      changed();
      const over = await watch(job, signal, (seen) =>
        fill(
          outcome,
          result(seen, isDry, () => run(false), action),
        ),
      );
      changed();
      if (!isDry && over.state === "succeeded") await page.refresh();
    } catch (error) {
      fill(outcome, failure(error, null));
    } finally {
      for (const button of buttons) button.disabled = false;
    }
  };
  return [
    choice("Action", {
      id: "action",
      value: action.id,
      options: actions.map((one) => [one.id, one.title]),
      onchange: (id) => go(page.link("maintenance", { action: id })),
    }),
    form,
    outcome,
  ];
}

function result(job, isDry, run, action) {
  const isReady = isDry && job.state === "succeeded";
  return [
    jobCard(job),
    isReady
      ? h(
          "div.buttons",
          h(
            "button",
            { type: "button", class: action.isDestructive ? "danger" : "primary", onclick: run },
            `${action.verb} now`,
          ),
        )
      : null,
  ];
}
