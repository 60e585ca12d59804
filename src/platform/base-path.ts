/** Path below which a browser sees the service: `/`, or that of the public URL, with a slash at its end. */
export function basePath(baseUrl: string): string {
  const { pathname } = new URL(baseUrl);
  return pathname.endsWith("/") ? pathname : `${pathname}/`;
}
