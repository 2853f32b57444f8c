"use strict";
(() => {
  const root = document.documentElement;
  const all = (selector, from = document) => Array.from(from.querySelectorAll(selector));
  root.classList.remove("no-script");

  // Tabs: without this script every panel is shown, one below the other.
  const tabs = all('[role="tab"]');
  const choose = (chosen, focus) => {
    tabs.forEach((tab) => {
      const on = tab === chosen;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
      document.getElementById(tab.getAttribute("aria-controls")).hidden = !on;
    });
    if (focus) chosen.focus();
    // Not scrollIntoView: that would move the page too.
    const list = chosen.parentElement;
    list.scrollLeft = chosen.offsetLeft - list.offsetLeft - 16;
  };
  tabs.forEach((tab, i) => {
    tab.addEventListener("click", () => choose(tab, false));
    tab.addEventListener("keydown", (event) => {
      const moves = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1 };
      if (!(event.key in moves)) return;
      event.preventDefault();
      choose(tabs[(moves[event.key] + tabs.length) % tabs.length], true);
    });
  });
  if (tabs.length) choose(tabs[0], false);
  all("a[data-tab]").forEach((link) =>
    link.addEventListener("click", () =>
      choose(document.getElementById(`tab-${link.dataset.tab}`), false)
    )
  );

  // Colours: as the system has them, or light, or dark.
  const theme = document.getElementById("theme");
  const themes = ["auto", "light", "dark"];
  theme.addEventListener("click", () => {
    const next = themes[(themes.indexOf(root.dataset.theme || "auto") + 1) % themes.length];
    if (next === "auto") delete root.dataset.theme;
    else root.dataset.theme = next;
    theme.textContent = `Colours: ${next}`;
  });

  // Error bars and series of the figures.
  all('input[name="spread"]').forEach((radio) =>
    radio.addEventListener("change", () => root.classList.toggle("show-ci", radio.value === "ci"))
  );
  const boxes = all("input[data-toggles]");
  const apply = (box) =>
    all(`svg [data-series="${box.dataset.toggles}"]`).forEach((part) =>
      part.classList.toggle("off", !box.checked)
    );
  boxes.forEach((box) => {
    box.addEventListener("change", () => apply(box));
    const entry = box.closest("li");
    const light = (on) => {
      root.classList.toggle("dim", on && box.checked);
      all(`svg [data-series="${box.dataset.toggles}"]`).forEach((part) =>
        part.classList.toggle("lit", on)
      );
    };
    entry.addEventListener("mouseenter", () => light(true));
    entry.addEventListener("mouseleave", () => light(false));
    apply(box);
  });
  all("button[data-set]").forEach((button) =>
    button.addEventListener("click", () =>
      boxes.forEach((box) => {
        box.checked = button.dataset.set === "all" || box.dataset.rankable === "true";
        apply(box);
      })
    )
  );

  // Tables: sort by a click on a head, filter by words and by epsilon.
  const key = (row, column) => {
    const cell = row.cells[column];
    const number = cell.dataset.key;
    if (number === undefined) return cell.textContent.trim().toLowerCase();
    return number === "inf" ? Infinity : number === "-inf" ? -Infinity : Number(number);
  };
  all("table.sortable").forEach((table) => {
    const heads = all("thead th", table);
    heads.forEach((head, column) => {
      const button = head.querySelector("button");
      if (!button) return;
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const body = table.tBodies[0];
        const rows = Array.from(body.rows).map((row, i) => [key(row, column), i, row]);
        const sign = down ? -1 : 1;
        rows.sort((a, b) => (a[0] < b[0] ? -sign : a[0] > b[0] ? sign : a[1] - b[1]));
        body.append(...rows.map((entry) => entry[2]));
      });
    });
  });
  all("form[data-filters]").forEach((form) => {
    const rows = all("tbody tr", document.getElementById(form.dataset.filters));
    const shown = form.querySelector("output");
    const update = () => {
      const words = form.elements.words.value.toLowerCase().split(/\s+/).filter(Boolean);
      const epsilon = form.elements.epsilon.value;
      rows.forEach((row) => {
        const text = row.textContent.toLowerCase();
        const fits = words.every((word) => text.includes(word));
        row.hidden = !(fits && (epsilon === "" || row.dataset.epsilon === epsilon));
      });
      shown.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} lines`;
    };
    form.addEventListener("input", update);
    form.addEventListener("submit", (event) => event.preventDefault());
    update();
  });

  // Paper shows all of it.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = all("details:not([open])");
    opened.forEach((one) => (one.open = true));
  });
  addEventListener("afterprint", () => opened.forEach((one) => (one.open = false)));

  // Receipts.
  const details = all("#receipts details");
  all("button[data-open]").forEach((button) =>
    button.addEventListener("click", () =>
      details.forEach((one) => (one.open = button.dataset.open === "yes"))
    )
  );
})();
