// The two side columns get names of their own, and what is moved sideways can be reached by key.
document.addEventListener("DOMContentLoaded", () => {
  const names = { "sidebar-drawer": "Navigation of the site", "toc-drawer": "This page" };
  for (const [kind, name] of Object.entries(names)) {
    document.querySelectorAll(`aside.${kind}`).forEach((aside) => aside.setAttribute("aria-label", name));
  }
  document.querySelectorAll("pre, .table-wrapper, div.math").forEach((part) => {
    part.setAttribute("tabindex", "0");
  });
});
