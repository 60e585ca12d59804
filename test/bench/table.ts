import type { Outcome } from "./measurement.ts";
import type { Spread } from "./stats.ts";

/** How an outcome is compared with its target. */
const SIGNS = { least: "≥ ", most: "≤ ", near: "1 ×÷ " } as const;

/** The outcomes as a table for people. */
export function table(outcomes: readonly Outcome[]): string {
  const lines = outcomes.map((outcome) => {
    const { other, ratio, perCpuRatio } = outcome;
    return [
      `${outcome.title} [${outcome.name}]`,
      `${figure(outcome.ours.median)} ${outcome.unit}`,
      other === undefined ? "" : `${figure(other.median)} ${outcome.unit}`,
      ratio === undefined ? range(outcome.ours) : `${ratio.median.toFixed(2)} ${range(ratio)}`,
      perCpuRatio === undefined ? "" : perCpuRatio.median.toFixed(2),
      `${SIGNS[outcome.at]}${outcome.target}${ratio === undefined ? ` ${outcome.unit}` : ""}`,
      outcome.ok ? "ok" : "short",
    ];
  });
  const head = ["row", "ours", "other", "ratio (min–max)", "per CPU s", "target", ""];
  const all = [head, ...lines];
  const widths = head.map((_, column) => Math.max(...all.map((line) => (line[column] ?? "").length)));
  const print = (line: readonly string[]): string =>
    line
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join("  ")
      .trimEnd();
  return [print(head), widths.map((width) => "-".repeat(width)).join("  "), ...lines.map(print)].join("\n");
}

function range({ min, max }: Spread): string {
  return `(${figure(min)}–${figure(max)})`;
}

function figure(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(2);
}
