import type { Environment } from "../environment.ts";

/** What one side of a row reached in one round. */
export interface Sample {
  /** In the row's unit. */
  value: number;
  /** Which load generator made the load. */
  tool?: string;
  /** Milliseconds. */
  p50?: number;
  p99?: number;
  /** Share of its core that the server's process used: near 1 means that the server, not the load, was the limit. */
  serverCpu?: number;
  /** Share of its core that our own load generator used; unknown for wrk and h2load. */
  loadCpu?: number;
  /**
   * Requests for each second of the server's processor time: what is left of `value` when neighbours take turns on the
   * core.
   */
  perCpuSecond?: number;
}

/** One of the two sides that are measured in turn. */
export interface Side {
  name: string;
  measure(seconds: number): Promise<Sample>;
}

/** A comparison: our side, the other side, and what their ratio should be. */
export interface RatioRow {
  kind: "ratio";
  name: string;
  title: string;
  unit: string;
  /** Of ours divided by the other. */
  target: number;
  /** Whether `target` is the least, the most, or how far it may be from 1 either way, as a factor. */
  at: "least" | "most" | "near";
  /** Starts what the row needs; it is stopped at the end of the row. */
  sides(environment: Environment): Promise<[ours: Side, other: Side]>;
}

/** A figure of our own that has to keep to a bound. */
export interface FigureRow {
  kind: "figure";
  name: string;
  title: string;
  unit: string;
  /** The most it may be, or the least. */
  target: number;
  at?: "least" | "most";
  /** `seconds`: about as long as one side of a comparison. */
  measure(environment: Environment, seconds: number): Promise<number>;
}

/** A row of the table. */
export type Row = RatioRow | FigureRow;
