import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** Path of Chromium: `CHROMIUM_PATH`, else from the search path; undefined where there is none. */
export function chromiumPath(): string | undefined {
  const names = ["chromium", "chromium-browser", "google-chrome"];
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const candidates = [
    process.env["CHROMIUM_PATH"] ?? "",
    ...folders.flatMap((at) => names.map((name) => join(at, name))),
  ];
  return candidates.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return path !== "";
    } catch {
      return false;
    }
  });
}
