/** `first_name` → `First name`. */
export function inWords(name: string): string {
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/gu, "$1_$2")
    .toLowerCase()
    .split("_")
    .join(" ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A member of free metadata, where it is a text. */
export const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

/** Joins the class names that apply. */
export const classes = (...names: (string | false | undefined)[]): string => names.filter(Boolean).join(" ");

/** A text as it looks: without characters that show nothing, and with single spaces between words. */
export const asSeen = (text: string): string =>
  text
    .normalize("NFKC")
    .replaceAll(/\s+/gu, " ")
    .replaceAll(/[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}]/gu, "")
    .replaceAll(/ {2,}/gu, " ")
    .trim();

/** `3 sessions`, `1 session`. */
export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

/** Seconds as `14:32`. */
export const clock = (seconds: number): string =>
  `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;

/** In this order: most browsers also call themselves by the names further down. */
const PROGRAMS: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\bEdgA?(?:iOS)?\/(\d+)/u, "Edge"],
  [/\b(?:OPR|OPT)\/(\d+)/u, "Opera"],
  [/\bSamsungBrowser\/(\d+)/u, "Samsung Internet"],
  [/\b(?:Firefox|FxiOS)\/(\d+)/u, "Firefox"],
  [/\b(?:HeadlessChrome|Chrome|Chromium|CriOS)\/(\d+)/u, "Chrome"],
  [/\bVersion\/(\d+)[\d.]* .*\bSafari\//u, "Safari"],
];

const SYSTEMS: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\biPhone\b/u, "iPhone"],
  [/\biPad\b/u, "iPad"],
  [/\bAndroid\b/u, "Android"],
  [/\bCrOS\b/u, "ChromeOS"],
  [/\bWindows\b/u, "Windows"],
  [/\bMac OS X\b|\bMacintosh\b/u, "macOS"],
  [/\bLinux\b/u, "Linux"],
];

/** A `User-Agent` in words: `Firefox 140 on Windows`, else its first product: `curl/8.5.0`. */
export function deviceOf(userAgent: string): string {
  const system = SYSTEMS.find(([pattern]) => pattern.test(userAgent))?.[1];
  for (const [pattern, name] of PROGRAMS) {
    const version = pattern.exec(userAgent)?.[1];
    if (version !== undefined) return system === undefined ? `${name} ${version}` : `${name} ${version} on ${system}`;
  }
  return userAgent.split(" ")[0] || "Unknown device";
}
