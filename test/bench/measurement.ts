import { waitForIdleCores } from "./processes.ts";
import type { FigureRow, RatioRow, Row, Sample, Side } from "./rows/row.ts";
import type { Environment } from "./environment.ts";
import { spread } from "./stats.ts";
import type { Spread } from "./stats.ts";

/** How a row is measured. */
export interface Measure {
  rounds: number;
  /** Of each side in each round. */
  seconds: number;
  /** Before the first round, each side. */
  warmUp: number;
  log(line: string): void;
}

/** Below this share of its core a server was not what limited a row. */
const saturated = 0.9;

/** The result of a row. */
export interface Outcome {
  name: string;
  title: string;
  unit: string;
  target: number;
  at: RatioRow["at"];
  ok: boolean;
  ours: Spread;
  other?: Spread & { name: string };
  /** Ours divided by the other, round by round. */
  ratio?: Spread;
  /** The same by the servers' own processor time: shows how much of a shortfall other processes cause. */
  perCpuRatio?: Spread;
  /**
   * A throughput whose servers were not busy all the time: others used the machine, or load and database were the
   * limit.
   */
  unsaturated: boolean;
  samples: { ours: Sample; other?: Sample }[];
}

/** Measures a row. */
export function measureRow(row: Row, environment: Environment, measure: Measure): Promise<Outcome> {
  return row.kind === "ratio" ? playRatio(row, environment, measure) : playFigure(row, environment, measure);
}

async function playRatio(
  row: RatioRow,
  environment: Environment,
  { rounds, seconds, warmUp, log }: Measure,
): Promise<Outcome> {
  const [ours, other] = await row.sides(environment);
  const measure = async (side: Side, duration: number): Promise<Sample> => {
    await waitForIdleCores(log);
    return side.measure(duration);
  };
  await measure(ours, warmUp);
  await measure(other, warmUp);
  const samples: { ours: Sample; other: Sample }[] = [];
  for (let round = 1; round <= rounds; round++) {
    const sample = { ours: await measure(ours, seconds), other: await measure(other, seconds) };
    samples.push(sample);
    log(`  ${row.name} ${round}/${rounds}: ${describe(sample.ours)} against ${describe(sample.other)}`);
  }
  const ratio = spread(samples.map((sample) => sample.ours.value / sample.other.value));
  const perCpu = samples.flatMap(({ ours: { perCpuSecond: a }, other: { perCpuSecond: b } }) =>
    a === undefined || b === undefined ? [] : [a / b],
  );
  return {
    ...facts(row),
    at: row.at,
    ok: meets(row.at, ratio.median, row.target),
    ours: spread(samples.map((sample) => sample.ours.value)),
    other: { name: other.name, ...spread(samples.map((sample) => sample.other.value)) },
    ratio,
    ...(perCpu.length === 0 || row.unit !== "req/s" ? {} : { perCpuRatio: spread(perCpu) }),
    unsaturated:
      row.unit === "req/s" &&
      samples.some(({ ours: a, other: b }) => Math.min(a.serverCpu ?? 1, b.serverCpu ?? 1) < saturated),
    samples,
  };
}

async function playFigure(
  row: FigureRow,
  environment: Environment,
  { rounds, seconds, log }: Measure,
): Promise<Outcome> {
  const values: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    const value = await row.measure(environment, seconds);
    values.push(value);
    log(`  ${row.name} ${round}/${rounds}: ${value.toFixed(2)} ${row.unit}`);
  }
  const ours = spread(values);
  const { at = "most" } = row;
  return {
    ...facts(row),
    at,
    ok: meets(at, ours.median, row.target),
    ours,
    unsaturated: false,
    samples: values.map((value) => ({ ours: { value } })),
  };
}

function meets(at: RatioRow["at"], value: number, target: number): boolean {
  if (at === "near") return value <= target && value >= 1 / target;
  return at === "least" ? value >= target : value <= target;
}

function facts({ name, title, unit, target }: Row) {
  return { name, title, unit, target };
}

function describe({ value, serverCpu, loadCpu, tool }: Sample): string {
  const busy = (what: string, share: number | undefined): string | undefined =>
    share === undefined ? undefined : `${what} ${Math.round(share * 100)} % busy`;
  const more = [tool, busy("load", loadCpu), busy("server", serverCpu)].filter((word) => word !== undefined);
  return `${value >= 100 ? Math.round(value) : value.toFixed(2)}${more.length === 0 ? "" : ` (${more.join(", ")})`}`;
}
