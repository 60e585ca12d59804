import { useQuery } from "@connectrpc/connect-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { BuyerService } from "../../../../gen/atrium/marketplace/v1/buyer_pb.ts";
import { Input } from "../../widgets/form/Field.tsx";
import { Page } from "../../widgets/Page.tsx";
import { Answer, Empty } from "../../widgets/States.tsx";
import { inWords } from "../../widgets/words.ts";
import { money } from "./money.ts";
import style from "./Apps.module.css";

/** What can be installed. */
export default function Apps() {
  const { q = "" }: { q?: string } = useSearch({ strict: false });
  const navigate = useNavigate();
  const apps = useQuery(BuyerService.method.browseApps, q === "" ? {} : { q });
  return (
    <Page title="Marketplace" about="Apps that this organization can install.">
      <Input
        label="Search apps"
        type="search"
        role="searchbox"
        value={q}
        onChange={(text) => void navigate({ to: ".", search: text === "" ? {} : { q: text }, replace: true })}
      />
      <Answer of={apps}>
        {({ apps: found }) =>
          found.length === 0 ? (
            <Empty text={q === "" ? "No app is published yet." : "No apps match."} api="GET /api/marketplace" />
          ) : (
            <ul className={style["grid"]} aria-label="Apps">
              {found.map((app) => (
                <li key={app.appId} className={style["card"]}>
                  <h2>
                    <Link to={`/console/apps/${app.slug}`}>{app.name}</Link>
                  </h2>
                  <p>{app.description}</p>
                  <p className={style["small"]}>
                    {inWords(app.pricingModel)} · from {money(app.basePriceCents, app.currency)} ·{" "}
                    {app.deploymentModes.map(inWords).join(", ")}
                  </p>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </Page>
  );
}
