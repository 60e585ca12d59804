import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/types.ts";
import type { Random } from "../../platform/random.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { Reader } from "./reader.ts";

/** Dependencies of templates and variables. */
export interface TemplatesDeps {
  database: Pick<Database, "prepared">;
  clock: Clock;
  random: Random;
  events: Pick<Events, "emit">;
  reader: Pick<Reader, "read">;
}
