// All jobs of the service.

import { fill, h } from "../dom.js";
import { jobList } from "../parts/job_list.js";
import { empty } from "../parts/states.js";

export function showJobs(main, service) {
  document.title = "Jobs · Lakebed";
  const life = new AbortController();
  const content = service.allow_actions
    ? jobList({}, life.signal).element
    : empty("This service is read-only", "It was started without --allow-actions, so there are no jobs.");
  fill(main, h("div.page-head", h("h1", "Jobs")), content);
  return { update: () => {}, stop: () => life.abort() };
}
