import { useQuery } from "@connectrpc/connect-query";
import { useQuery as useQueryOf } from "@tanstack/react-query";
import { AppWindow, Hash, LogOut, SunMoon, User } from "lucide-react";
import type { LucideIcon } from "lucide-react";
import { useEffect, useState } from "react";
import type { GetMeResponse } from "../../../gen/atrium/access/v1/access_pb.ts";
import { BuyerService } from "../../../gen/atrium/marketplace/v1/buyer_pb.ts";
import { UsersService } from "../../../gen/atrium/users/v1/users_pb.ts";
import { PAGES } from "../pages.ts";
import { holds } from "../powers.ts";
import { preferences, setPreferences } from "../session/preferences.ts";
import { leave } from "./leave.ts";

/** Something the palette finds. */
export interface Entry {
  key: string;
  label: string;
  kind: string;
  icon: LucideIcon;
  to?: string;
  search?: Readonly<Record<string, string>>;
  run?: () => void;
}

/** Whether the page is dark now, by choice or as the system is. */
const isDark = (): boolean => {
  const { theme } = preferences();
  return theme === "dark" || (theme === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
};

const ACTIONS: readonly Entry[] = [
  { key: "sign-out", label: "Sign out", kind: "Action", icon: LogOut, run: () => leave() },
  {
    key: "theme",
    label: "Change the theme",
    kind: "Action",
    icon: SunMoon,
    run: () => setPreferences({ theme: isDark() ? "light" : "dark" }),
  },
];

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/iu;
/** Thumbprint of a signing key (RFC 7638, SHA-256). */
const KID = /^[\w-]{43}$/u;

/** What matches a text: pages and actions at once, members, apps and ids when the service has answered. */
export function useEntries(me: GetMeResponse, text: string): { entries: readonly Entry[]; isLooking: boolean } {
  const wanted = text.trim().toLowerCase();
  const asked = useDebounced(wanted);
  const searches = asked.length >= 2 && !UUID.test(asked) && !KID.test(asked);
  const members = useQuery(
    UsersService.method.listUsers,
    { q: asked, limit: 5 },
    { enabled: searches && holds(me, "admin") },
  );
  const apps = useQuery(BuyerService.method.browseApps, { q: asked }, { enabled: searches && holds(me, "member") });

  const known = (path: string): boolean => PAGES.some((page) => page.path === path && holds(me, page.needs));
  const things = useQueryOf({
    queryKey: ["by-id", asked],
    enabled: UUID.test(asked) && asked === wanted,
    // Its clients are loaded when somebody looks for an id.
    queryFn: async () => (await import("./find-by-id.ts")).findById(asked, me.orgUuid ?? "", known),
  });

  const pages = PAGES.filter(({ nav, needs }) => nav !== undefined && holds(me, needs)).map<Entry>(({ path, nav }) => ({
    key: `page-${path}`,
    label: nav?.label ?? "",
    kind: nav?.group === "" ? "Page" : (nav?.group ?? ""),
    icon: nav?.icon ?? Hash,
    to: path === "" ? "/console" : `/console/${path}`,
  }));
  const fixed = [...pages, ...ACTIONS].filter(
    ({ label, to }) => label.toLowerCase().includes(wanted) || to?.includes(wanted) === true,
  );
  if (wanted === "") return { entries: fixed, isLooking: false };
  const ids: Entry[] = UUID.test(wanted)
    ? (asked === wanted ? (things.data ?? []) : []).map(({ page, kind, name }) => ({
        key: `id-${page}`,
        label: name,
        kind,
        icon: Hash,
        to: `/console/${page.replace(/\$\w+/u, wanted)}`,
      }))
    : KID.test(text.trim()) && known("keys")
      ? [
          {
            key: "kid",
            label: "Open signing keys",
            kind: "Key",
            icon: Hash,
            to: "/console/keys",
            search: { q: text.trim() },
          },
        ]
      : [];
  const entries: Entry[] = [
    ...fixed,
    ...ids,
    ...(searches ? (members.data?.data ?? []) : []).map<Entry>(({ userUuid, email }) => ({
      key: userUuid,
      label: email,
      kind: "Member",
      icon: User,
      ...(known("members/$user")
        ? { to: `/console/members/${userUuid}` }
        : { to: "/console/members", search: { q: email } }),
    })),
    ...(searches && known("apps/$slug") ? (apps.data?.apps.slice(0, 5) ?? []) : []).map<Entry>(({ slug, name }) => ({
      key: slug,
      label: name,
      kind: "App",
      icon: AppWindow,
      to: `/console/apps/${slug}`,
    })),
  ];
  return { entries, isLooking: asked !== wanted || members.isFetching || apps.isFetching || things.isFetching };
}

function useDebounced(value: string): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), 150);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
