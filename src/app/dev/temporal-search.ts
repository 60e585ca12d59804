/** Version of the Temporal CLI that is downloaded or built: the newest that `go install` accepts. */
export const TEMPORAL_CLI_VERSION = "1.5.1";

/** How to find the program. */
export interface TemporalSearch {
  /** `PATH`. */
  path: string | undefined;
  /** `XDG_CACHE_HOME`; `~/.cache` when unset. */
  cacheHome: string | undefined;
  /** Prints one line of progress. */
  log(line: string): void;
  /** Aborts the search. */
  signal?: AbortSignal | undefined;
  /** Interval of the progress lines of a build, milliseconds; another one in tests. */
  heartbeatMs?: number;
  /** Origin of the downloads; another one in tests. */
  downloadOrigin?: string;
  /** SHA-256 of the archives by platform (`linux_amd64`); others in tests. */
  checksums?: Readonly<Record<string, string>>;
}
