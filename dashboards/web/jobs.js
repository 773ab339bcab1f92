// The jobs that run, those first that regions have to do with.
const most = 12;

// fillJobs lists jobs, each with the regions that it was accused of or suffers from.
export function fillJobs(list, jobs, regions, duration, truncated) {
  const named = new Map(regions.map((r) => [String(r.id), r.name || "region " + r.id]));
  const blame = (j) => Math.max(0, ...j.regions.map((r) => r.blame || (r.victim_intervals ? .001 : 0)));
  const sorted = [...jobs].sort((a, b) => blame(b) - blame(a) || b.node_count - a.node_count);
  const items = sorted.slice(0, most).map((j) => {
    const li = document.createElement("li"), name = document.createElement("b"), size = document.createElement("span"), about = document.createElement("small");
    name.textContent = [j.job_id, j.name].filter(Boolean).join(" ");
    size.textContent = [j.user, j.node_count + (j.node_count === 1 ? " node" : " nodes")].filter(Boolean).join(", ");
    about.textContent = j.regions.map((r) => touch(r, named, duration)).join("; ") || "in no region";
    li.append(name, size, about);
    return li;
  });
  if (jobs.length > most || truncated) {
    const more = document.createElement("li");
    more.className = "none";
    more.textContent = `and ${jobs.length - most}${truncated ? " or more" : ""} others`;
    items.push(more);
  }
  if (items.length === 0) {
    const none = document.createElement("li");
    none.className = "none";
    none.textContent = "no job is known";
    items.push(none);
  }
  list.replaceChildren(...items);
}

function touch(r, named, duration) {
  const what = r.accused_intervals ? `accused of ${named.get(r.region) ?? "region " + r.region} for ${duration(r.accused_intervals)} (blame ${Math.round(100 * r.blame)}%)`
    : `slowed down by ${named.get(r.region) ?? "region " + r.region} for ${duration(r.victim_intervals)}`;
  return what + (named.has(r.region) ? "" : ", over");
}
