// The two side columns get names of their own, what is moved sideways can be reached by key, and
// sources of a docstring lose roles that only a real list may have.
document.addEventListener("DOMContentLoaded", () => {
  const names = { "sidebar-drawer": "Navigation of the site", "toc-drawer": "This page" };
  for (const [kind, name] of Object.entries(names)) {
    document.querySelectorAll(`aside.${kind}`).forEach((aside) => aside.setAttribute("aria-label", name));
  }
  document.querySelectorAll("pre, .table-wrapper, div.math").forEach((part) => {
    part.setAttribute("tabindex", "0");
  });
  document.querySelectorAll(".citation-list, .citation").forEach((part) => {
    part.removeAttribute("role");
  });
});
