import { defineDomain } from "../../platform/domain.ts";
import type { Ground } from "../../platform/domain.ts";
import { createMailOutbox } from "../../platform/outgoing/mail-outbox.ts";
import type { Events } from "../event-catalogue/index.ts";
import { Person } from "./entities.ts";
import { createPeople } from "./people.ts";

/** People, their memberships and mails to them; other domains serve them. */
export const peopleDomain = defineDomain(
  "people",
  ({ eventCatalogue: events, ...ground }: Ground & { eventCatalogue: Events }) =>
    createPeople({
      ...ground,
      events,
      mailOutbox: createMailOutbox(ground.sealer),
      config: { baseUrl: ground.config.baseUrl, mailOff: ground.config.mail.off },
    }),
  { entities: [Person] },
);
