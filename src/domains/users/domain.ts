import { defineDomain } from "../../platform/domain.ts";
import type { Ground } from "../../platform/domain.ts";
import type { Events } from "../event-catalogue/index.ts";
import { usersRpc } from "./rpc.ts";
import type { UsersServiceDeps } from "./rpc.ts";
import { createUsers } from "./users.ts";
import type { UsersDeps } from "./users.ts";

type Below = Omit<UsersDeps, "events"> & Omit<UsersServiceDeps, "users">;

/** Profiles, members, invitations and organizations, as their people use them. */
export const usersDomain = defineDomain(
  "users",
  ({ eventCatalogue: events, contexts, ...below }: Ground & Below & { eventCatalogue: Events }) => {
    const users = createUsers({ ...below, events });
    return { ...users, services: [usersRpc({ ...below, users }, contexts)] };
  },
);
