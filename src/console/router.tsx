import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  useParams,
} from "@tanstack/react-router";
import type { ComponentType } from "react";
import { DOOR_PAGES } from "./doors/doors.ts";
import { PAGES } from "./pages.ts";
import { useMe } from "./session/use-session.ts";
import { prefix } from "./settings.ts";
import { Allowed } from "./shell/Allowed.tsx";
import { NotFound, PageNotFound } from "./shell/NotFound.tsx";
import { LoadFailed, StartFailed } from "./shell/LoadFailed.tsx";
import { focusHeading } from "./widgets/Page.tsx";
import { Skeleton } from "./widgets/States.tsx";
import { Toasts } from "./widgets/Toasts.tsx";

const root = createRootRoute({
  component: () => (
    <>
      <Outlet />
      <Toasts />
    </>
  ),
  notFoundComponent: NotFound,
});

const doors = DOOR_PAGES.map(({ path, load }) =>
  createRoute({ getParentRoute: () => root, path, component: lazyRouteComponent(load), errorComponent: StartFailed }),
);

/** Their own chunks: the doors need none of them. */
async function loadFrame() {
  const [{ default: ConsoleFrame }, { default: Unsaved }] = await Promise.all([
    import("./shell/ConsoleFrame.tsx"),
    import("./widgets/Unsaved.tsx"),
  ]);
  const Frame = () => (
    <>
      <ConsoleFrame />
      <Unsaved />
    </>
  );
  return { default: Frame };
}

const frame = createRoute({
  getParentRoute: () => root,
  path: "/console",
  component: lazyRouteComponent(loadFrame),
  errorComponent: StartFailed,
  notFoundComponent: PageNotFound,
});

const pages = PAGES.map(({ path, load, needs }) => {
  const Content = lazyRouteComponent(load) as ComponentType & { preload?: () => Promise<void> };
  function Component() {
    // The page of another thing, person or organization starts anew: nothing typed in, read or revealed on the one
    // before is on it.
    const { userUuid, orgUuid } = useMe();
    const thing = JSON.stringify([userUuid, orgUuid, useParams({ strict: false })]);
    return (
      <Allowed needs={needs}>
        <Content key={thing} />
      </Allowed>
    );
  }
  return createRoute({
    getParentRoute: () => frame,
    path: path === "" ? "/" : path,
    // The script loads before the page renders, and when the pointer is on a link to it. A page that suspended would
    // appear 300 ms later: React delays what replaces a fallback.
    component: Object.assign(Component, { preload: () => Content.preload?.() }),
    pendingComponent: Skeleton,
    pendingMs: 300,
    pendingMinMs: 200,
  });
});

/** Values of the address are texts, as people write them: `?page=2&q=7`. */
const textSearch = {
  parseSearch: (text: string) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search: Record<string, unknown>) => {
    const entries = Object.entries(search).filter(([, value]) => value !== undefined && value !== "");
    const text = new URLSearchParams(entries.map(([name, value]) => [name, String(value)])).toString();
    return text === "" ? "" : `?${text}`;
  },
};

export const router = createRouter({
  routeTree: root.addChildren([...doors, frame.addChildren(pages)]),
  basepath: prefix === "" ? "/" : prefix,
  ...textSearch,
  defaultNotFoundComponent: NotFound,
  defaultErrorComponent: LoadFailed,
  defaultPreload: "intent",
  scrollRestoration: true,
});

router.subscribe("onBeforeLoad", ({ pathChanged, fromLocation }) => {
  if (pathChanged && fromLocation !== undefined) focusHeading();
});
