// On a phone a long page is folded: a reader sees its headings, and opens what is wanted.
document.addEventListener("DOMContentLoaded", () => {
  const article = document.querySelector("article.bd-article");
  if (!article || window.innerWidth >= 600 || article.scrollHeight < 2600) return;
  for (const section of article.querySelectorAll(":scope > section > section")) {
    const heading = section.querySelector(":scope > h2");
    if (!heading) continue;
    const fold = document.createElement("details");
    const summary = document.createElement("summary");
    fold.className = "fold";
    heading.before(fold);
    summary.append(heading);
    fold.append(summary);
    while (fold.nextSibling) fold.append(fold.nextSibling);
  }
  const show = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    const own = target.querySelector(":scope > details.fold");
    if (own) own.open = true;
    for (let above = target; above; above = above.parentElement) if (above.tagName === "DETAILS") above.open = true;
    target.scrollIntoView();
  };
  window.addEventListener("hashchange", show);
  show();
});
