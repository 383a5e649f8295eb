// All jobs that the service remembers.

import { fill, h } from "../dom.js";
import { jobList } from "../parts/job_list.js";
import { empty } from "../parts/states.js";

export function showJobs(main, service) {
  document.title = "Jobs · Lakebed";
  const life = new AbortController();
  const content = service.allow_actions
    ? jobList({}, life.signal).element
    : empty("This service only reads", "It was started without --allow-actions, so it has no jobs.");
  fill(main, h("div.page-head", h("h1", "Jobs")), content);
  return { update: () => {}, stop: () => life.abort() };
}
