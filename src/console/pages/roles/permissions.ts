/** What a change of permissions gives and takes, by name; each list is sorted. */
export interface PermissionDiff {
  gained: readonly string[];
  lost: readonly string[];
  kept: readonly string[];
}

/** Compares two sets of permissions. */
export function diffOf(before: readonly string[], after: readonly string[]): PermissionDiff {
  const [was, is] = [new Set(before), new Set(after)];
  const all = [...new Set([...before, ...after])].sort();
  return {
    gained: all.filter((name) => !was.has(name)),
    lost: all.filter((name) => !is.has(name)),
    kept: all.filter((name) => was.has(name) && is.has(name)),
  };
}

/** Permissions by their resource, the part before the colon, in the order of the catalogue. */
export function byResource<P extends { readonly name: string }>(permissions: readonly P[]): readonly [string, P[]][] {
  const groups = new Map<string, P[]>();
  for (const permission of permissions) {
    const resource = permission.name.split(":")[0] ?? "";
    const group = groups.get(resource);
    if (group === undefined) groups.set(resource, [permission]);
    else group.push(permission);
  }
  return [...groups];
}
