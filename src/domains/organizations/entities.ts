import { defineEntity, p } from "@mikro-orm/postgresql";

const OrganizationSchema = defineEntity({
  name: "Organization",
  tableName: "organizations",
  properties: {
    uuid: p.uuid().primary(),
    name: p.text(),
    plan: p.text(),
    jitDomains: p.array().$type<string[]>(),
    sandbox: p.boolean(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
    deletedAt: p.datetime(3).nullable(),
    version: p.integer().version(),
  },
});

/** A tenant. Deleted ones keep their row, so that their names stay taken and their events readable. */
export class Organization extends OrganizationSchema.class {}
OrganizationSchema.setClass(Organization);
