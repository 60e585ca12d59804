import { Activity, Archive, BadgeCheck, Building2, Container, Layers, Lock, Receipt, Server, Tags } from "lucide-react";
import type { PageRow } from "./page-row.ts";

/** The pages of those who run the service: platform admins and operators. */
export const PLATFORM_PAGES: readonly PageRow[] = [
  {
    path: "platform/approvals",
    load: () => import("./pages/platform/Approvals.tsx"),
    needs: "platform",
    nav: { group: "Platform", label: "Approvals", icon: BadgeCheck },
  },
  {
    path: "platform/installs",
    load: () => import("./pages/platform/Installs.tsx"),
    needs: "platform",
    nav: { group: "Platform", label: "All installs", icon: Server },
  },
  {
    path: "platform/organizations",
    load: () => import("./pages/platform/Organizations.tsx"),
    needs: "platform",
    nav: { group: "Platform", label: "Organizations", icon: Building2 },
  },
  {
    path: "platform/cloud-targets",
    load: () => import("./pages/platform/CloudTargets.tsx"),
    needs: "platform",
    nav: { group: "Platform", label: "Cloud targets", icon: Container },
  },
  {
    path: "platform/plans",
    load: () => import("./pages/platform/Plans.tsx"),
    needs: "platform",
    nav: { group: "Platform", label: "Plans", icon: Layers },
  },
  {
    path: "platform/prices",
    load: () => import("./pages/platform/Prices.tsx"),
    needs: "platform",
    nav: { group: "Platform", label: "Prices", icon: Tags },
  },
  {
    path: "platform/payments",
    load: () => import("./pages/platform/Payments.tsx"),
    needs: "operator",
    nav: { group: "Operation", label: "Unmatched payments", icon: Receipt },
  },
  {
    path: "platform/status",
    load: () => import("./pages/platform/ServiceStatus.tsx"),
    needs: "runs",
    nav: { group: "Operation", label: "Status", icon: Activity },
  },
  {
    path: "platform/retention",
    load: () => import("./pages/platform/Retention.tsx"),
    needs: "operator",
    nav: { group: "Operation", label: "Retention", icon: Archive },
  },
  {
    path: "platform/vault",
    load: () => import("./pages/platform/Seal.tsx"),
    needs: "operator",
    nav: { group: "Operation", label: "Vault seal", icon: Lock },
  },
];
