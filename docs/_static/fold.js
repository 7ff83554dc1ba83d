// On a phone a long page is folded: a reader sees its headings, and opens what is wanted.
// Nothing of it is shown before that, so that nothing moves under a reader's eyes.
if (window.innerWidth < 600) document.documentElement.classList.add("to-fold");
document.addEventListener("DOMContentLoaded", () => {
  const article = document.querySelector("article.bd-article");
  document.documentElement.classList.remove("to-fold");
  if (!article || window.innerWidth >= 600 || article.scrollHeight < 2600) return;
  const sections = article.querySelectorAll(":scope > section > section");
  if (sections.length < 3) return;
  for (const section of sections) {
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
