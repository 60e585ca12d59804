import { useQuery } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { BuyerService } from "../../../../gen/atrium/marketplace/v1/buyer_pb.ts";
import type { BrowseAppsResponse } from "../../../../gen/atrium/marketplace/v1/buyer_pb.ts";
import { Button } from "../../widgets/Button.tsx";
import { Page } from "../../widgets/Page.tsx";
import { Answer, Empty } from "../../widgets/States.tsx";
import { pageText } from "../../widgets/table/Beyond.tsx";
import table from "../../widgets/table/DataTable.module.css";
import { Search } from "../../widgets/table/Tools.tsx";
import { useList } from "../../widgets/table/use-list.ts";
import type { ListState } from "../../widgets/table/use-list.ts";
import { inWords } from "../../widgets/words.ts";
import { money } from "./money.ts";
import style from "./Apps.module.css";

/** Apps of a page; the service sets it. */
const PAGE_SIZE = 20;

/** What can be installed. */
export default function Apps() {
  const list = useList([], "");
  const { q, page } = list;
  const apps = useQuery(
    BuyerService.method.browseApps,
    { ...(q !== "" && { q }), page },
    { placeholderData: keepPreviousData },
  );
  return (
    <Page title="Marketplace" about="Apps that this organization can install.">
      <div className={table["tools"]}>
        <Search things="apps" list={list} />
      </div>
      <Answer of={apps}>
        {(found) =>
          found.apps.length === 0 ? (
            <NoApps list={list} />
          ) : (
            <>
              <ul className={style["grid"]} aria-label="Apps" aria-busy={apps.isPlaceholderData}>
                {found.apps.map((app) => (
                  <li key={app.appId} className={style["card"]}>
                    <h2>
                      <Link to={`/console/apps/${app.slug}`}>{app.name}</Link>
                    </h2>
                    <p className={style["about"]}>{app.description}</p>
                    <p className={style["small"]}>
                      {inWords(app.pricingModel)} · from {money(app.basePriceCents, app.currency)} ·{" "}
                      {app.deploymentModes.map(inWords).join(", ")}
                    </p>
                  </li>
                ))}
              </ul>
              <Foot list={list} found={found} />
            </>
          )
        }
      </Answer>
    </Page>
  );
}

function NoApps({ list }: { list: ListState }) {
  if (list.page > 1)
    return (
      <Empty
        text={`There is no page ${list.page.toLocaleString("en")} of apps.`}
        action={<Button onClick={() => list.set({ page: undefined })}>First page</Button>}
      />
    );
  return <Empty text={list.q === "" ? "No app is published yet." : "No apps match."} api="GET /api/marketplace" />;
}

/** Which apps these are, and the ways to the pages beside them. */
function Foot({ list, found }: { list: ListState; found: BrowseAppsResponse }) {
  const before = (found.page - 1) * PAGE_SIZE;
  const last = before + found.apps.length;
  const total = Math.max(found.total, last);
  const hasMore = last < total || (found.totalIsEstimate === true && found.apps.length === PAGE_SIZE);
  return (
    <div className={table["foot"]}>
      <span>
        {(before + 1).toLocaleString("en")}–{last.toLocaleString("en")} of {found.totalIsEstimate === true && "about "}
        {total.toLocaleString("en")}
      </span>
      <span className={table["pages"]}>
        <Button small disabled={found.page === 1} onClick={() => list.set({ page: pageText(found.page - 1) })}>
          Previous page
        </Button>
        <Button small disabled={!hasMore} onClick={() => list.set({ page: pageText(found.page + 1) })}>
          Next page
        </Button>
      </span>
    </div>
  );
}
