import { useEffect, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { usePreferences } from "../session/preferences.ts";
import style from "./Chart.module.css";

interface PlotProps {
  /** What the picture shows, in words. */
  label: string;
  /** Starts of the buckets in seconds. */
  starts: readonly number[];
  /** A list of values per series, one per bucket. */
  values: readonly (readonly (number | undefined)[])[];
  /** Names of custom properties, one per series. */
  colours: readonly string[];
  stacked: boolean;
  unit: string | undefined;
  /** Called with the bucket under the pointer. */
  onHover: (bucket: number | undefined) => void;
}

const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });

/** Bars on a canvas. */
export function Plot(props: PlotProps) {
  const { label, starts, values, colours, stacked, unit, onHover } = props;
  const frame = useRef<HTMLDivElement>(null);
  const hover = useRef(onHover);
  hover.current = onHover;
  const theme = useTheme();
  const drawn = JSON.stringify([starts, values, colours, stacked, unit]);

  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const plot = new uPlot(
      optionsOf(element, { starts, colours: stacked ? colours.toReversed() : colours, unit }, (at) =>
        hover.current(at),
      ),
      dataOf(starts, values, stacked),
      element,
    );
    const resized = new ResizeObserver(() => plot.setSize(sizeOf(element)));
    resized.observe(element);
    return () => {
      resized.disconnect();
      plot.destroy();
    };
    // `drawn` stands for all that is drawn: the lists are made anew by every render.
  }, [drawn, theme]);

  return <div ref={frame} className={style["plot"]} role="img" aria-label={label} />;
}

const sizeOf = (element: HTMLElement): { width: number; height: number } => ({
  width: element.clientWidth,
  height: element.clientHeight,
});

/** The highest bars first, as later series are painted over them. */
function dataOf(starts: PlotProps["starts"], values: PlotProps["values"], stacked: boolean): uPlot.AlignedData {
  const below = starts.map(() => 0);
  const heights = values.map((list) =>
    list.map((value, at) => (stacked ? (below[at] = (below[at] ?? 0) + (value ?? 0)) : (value ?? null))),
  );
  return [[...starts], ...(stacked ? heights.toReversed() : heights)];
}

function optionsOf(
  element: HTMLElement,
  { starts, colours, unit }: Pick<PlotProps, "starts" | "colours" | "unit">,
  onHover: (bucket: number | undefined) => void,
): uPlot.Options {
  const [soft, line] = [colourOf(element, "soft"), colourOf(element, "line")];
  const axis = { stroke: soft, font: `12px ${getComputedStyle(element).fontFamily}`, ticks: { show: false } };
  const paths = uPlot.paths.bars?.({ size: [0.7, 48], radius: 0.15 }) ?? (() => null);
  return {
    ...sizeOf(element),
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    // Half a day around the bars, which stand on the middle of their day's start.
    scales: {
      x: { time: false, range: [(starts[0] ?? 0) - 43_200, (starts.at(-1) ?? 0) + 43_200] },
      y: { range: (_plot, _least, most) => [0, Math.max(most, 4) * 1.05] },
    },
    axes: [
      {
        ...axis,
        size: 28,
        grid: { show: false },
        space: 64,
        splits: () => starts.filter((_start, at) => at % Math.ceil(starts.length / labels(element)) === 0),
        values: (_plot, splits) => splits.map((start) => day.format(start * 1000)),
      },
      {
        ...axis,
        grid: { stroke: line, width: 1 },
        size: 56,
        incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 1e7, 1e8],
        values: (_plot, splits) =>
          splits.map((value) => `${short.format(value)}${unit === undefined ? "" : ` ${unit}`}`),
      },
    ],
    series: [
      {},
      ...colours.map((name) => ({ paths, width: 0, fill: colourOf(element, name, true), points: { show: false } })),
    ],
    hooks: { setCursor: [({ cursor }) => onHover(cursor.idx ?? undefined)] },
  };
}

const short = new Intl.NumberFormat("en", { notation: "compact" });

/** How many days fit under the bars. */
const labels = (element: HTMLElement): number => Math.max(2, Math.floor((element.clientWidth - 56) / 72));

/**
 * A canvas takes no custom properties: their colour in the present theme. Where the system forces its colours on the
 * page, those of series stay, or all would be the same.
 */
function colourOf(element: HTMLElement, name: string, isSeries = false): string {
  const probe = document.createElement("span");
  if (isSeries) probe.className = style["series"] ?? "";
  probe.style.color = `var(--${name})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** Changes when the colours do. */
function useTheme(): string {
  const { theme } = usePreferences();
  const dark = useMedia("(prefers-color-scheme: dark)");
  const forced = useMedia("(forced-colors: active)");
  return `${theme} ${dark} ${forced}`;
}

function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const update = (): void => setMatches(media.matches);
    media.addEventListener("change", update);
    return () => media.removeEventListener("change", update);
  }, [query]);
  return matches;
}
