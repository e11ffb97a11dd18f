// Finds the causes of pasted lines among the signatures in causes.js: the anchor first, then the pattern, as k3triage does.
"use strict";
(() => {
  const ROLES = {benign: 5, root: 4, advisory: 3, suspect: 2, cascade: 1};
  const WORDS = {root: "the cause", suspect: "a failure whose cause may lie elsewhere", cascade: "an echo of another failure",
    benign: "harmless", advisory: "a fault without a crash"};
  // What stands before a program's own words: process, level and place, NCCL's header, stamps, an error's name.
  const HEADERS = [
    /^\([\w.-]+(?: [\w=.: -]+)?\)\s*/, /^\[rank ?\d+\]:?\s*/, /^(?:DEBUG|INFO|WARNING|ERROR|CRITICAL):? \d\d-\d\d [\d:.]+ (?:\[[^\]]+\] )?/,
    /^\S+ \| /, /^\[?\d{4}-\d\d-\d\d[T ][\d:.,]+(?:Z|[+-]\d\d:?\d\d)?\]?\s*/, /^\S+:\d+:\d+ \[\d+\] (?:.+?:\d+ (?:\([^)]*\) )?)?NCCL (?:INFO|WARN) /,
    /^\[\s*\d+\.\d+\] /, /^\[?[EWIF]\d{4} [\d:.]+ .{0,80}?\] /, /^(?:ERROR|WARNING|INFO):\s+/,
  ];
  const MOST_LINES = 400, MOST_CHARACTERS = 4000, MOST_SHOWN = 25;
  const compiled = new Map();

  function expression(entry) {
    const key = entry.flags + "/" + entry.pattern;
    if (!compiled.has(key)) {
      let made = null;
      try { made = new RegExp(entry.pattern, entry.flags); } catch { /* not of JavaScript's dialect: the anchor decides */ }
      compiled.set(key, made);
    }
    return compiled.get(key);
  }

  function bodies(line) {
    const found = [line];
    let text = line;
    for (let again = true; again && found.length < 12;) {
      again = false;
      for (const header of HEADERS) {
        const rest = text.replace(header, "");
        if (rest !== text) { text = rest; again = true; found.push(text); }
      }
    }
    return found;
  }

  function best(line) {
    let winner = null;
    const texts = bodies(line);
    for (const entry of K3_CAUSES) {
      if (!line.includes(entry.anchor)) continue;
      let length = entry.anchor.length;
      if (entry.pattern !== null) {
        const regex = expression(entry);
        if (regex !== null) {
          const match = texts.map(text => regex.exec(text)).find(Boolean);
          if (!match) continue;
          length = match[0].length;
        }
      }
      const rank = [entry.precedence, ROLES[entry.role] || 0, length];
      if (!winner || compare(rank, winner.rank) > 0) winner = {entry, rank};
    }
    return winner && winner.entry;
  }

  function compare(one, two) {
    for (let i = 0; i < one.length; i++) if (one[i] !== two[i]) return one[i] - two[i];
    return 0;
  }

  function show() {
    const said = document.getElementById("find-said"), list = document.getElementById("find-found");
    const lines = document.getElementById("find-text").value.split("\n").slice(0, MOST_LINES);
    list.replaceChildren();
    const seen = new Map();
    lines.forEach((line, index) => {
      const entry = line.trim() ? best(line.slice(0, MOST_CHARACTERS)) : null;
      if (entry && !seen.has(entry.cause)) seen.set(entry.cause, {entry, line, number: index + 1});
    });
    const found = [...seen.values()].sort((a, b) => (b.entry.role === "root") - (a.entry.role === "root") || a.number - b.number);
    for (const {entry, line, number} of found.slice(0, MOST_SHOWN)) {
      const item = document.createElement("li"), link = document.createElement("a");
      link.href = entry.page;
      link.textContent = entry.title;
      const role = document.createElement("span");
      role.className = "role";
      role.textContent = ` (${entry.cause}: ${WORDS[entry.role] || entry.role})`;
      const text = document.createElement("span");
      text.className = "line";
      text.textContent = `line ${number}: ${line.trim().slice(0, 220)}`;
      item.append(link, role, text);
      list.append(item);
    }
    const given = lines.some(line => line.trim());
    said.textContent = !given ? "" : found.length === 0
      ? "No rule knows these lines. Run k3triage on the whole log; or write a rule: k3triage rules new --from-line '...'"
      : `${found.length} cause${found.length === 1 ? "" : "s"}; roots first.`;
  }

  let timer = 0;
  document.getElementById("find-text").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(show, 120); });
  // A line may be handed over in the address: find.html#line=...
  const given = new URLSearchParams(location.hash.slice(1)).get("line");
  if (given) { document.getElementById("find-text").value = given; show(); }
})();
