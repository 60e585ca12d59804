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

/** A tenant. */
export class Organization extends OrganizationSchema.class {
  /** Deleted organizations keep their row, so that their names and events stay. */
  isLive(): boolean {
    return !this.deletedAt;
  }

  /** Takes another name; the old one stays reserved. */
  rename(name: string, at: Date): void {
    this.name = name;
    this.updatedAt = at;
  }
}
OrganizationSchema.setClass(Organization);
