/** The helper process of reader.ts. */
import { serveJobs } from "../../platform/helper/serve.ts";
import type { ReadJob, ReadResult } from "./readings.ts";

await serveJobs<ReadJob, ReadResult>(async () => (await import("./readings.ts")).readBody);
