/** Collects latencies in milliseconds and computes percentiles. */
export class Latencies {
  private values = new Float64Array(1 << 16);
  private count = 0;

  add(ms: number): void {
    if (this.count === this.values.length) {
      const bigger = new Float64Array(this.count * 2);
      bigger.set(this.values);
      this.values = bigger;
    }
    this.values[this.count++] = ms;
  }

  /** Nearest-rank percentiles, `shares` between 0 and 1; 0 where nothing was collected. */
  percentiles(...shares: number[]): number[] {
    const sorted = this.values.slice(0, this.count).sort();
    return shares.map((share) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0);
  }
}
