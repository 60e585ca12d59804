// The start of the console is not there: the service was upgraded meanwhile, or its instances have different versions.
addEventListener(
  "error",
  ({ target }) => {
    if (!(target instanceof HTMLScriptElement)) return;
    const now = Date.now();
    // Once: a script that stays away would reload the page for ever. So would one where nothing can be stored.
    let reloaded = now;
    try {
      reloaded = Number(sessionStorage.getItem("atrium.reloaded"));
      sessionStorage.setItem("atrium.reloaded", String(now));
    } catch {
      reloaded = now;
    }
    if (now - reloaded > 60_000) return location.reload();
    const main = document.createElement("main");
    const heading = document.createElement("h1");
    heading.textContent = "The console did not load";
    const text = document.createElement("p");
    text.textContent = "Part of it is missing. The service may be in the middle of an upgrade. ";
    const again = document.createElement("a");
    again.href = location.href;
    again.textContent = "Try again";
    text.append(again);
    main.append(heading, text);
    addEventListener("DOMContentLoaded", () => document.body.replaceChildren(main));
    document.body?.replaceChildren(main);
  },
  true,
);
