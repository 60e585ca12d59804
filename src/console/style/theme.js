// Applies the chosen theme before the first paint. "system" needs nothing: the style sheet asks the browser.
try {
  const { theme } = JSON.parse(localStorage.getItem("atrium.preferences") ?? "{}");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Preferences that cannot be read are as good as none.
}
