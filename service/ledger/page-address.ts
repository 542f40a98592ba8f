/**
 * The address of a page without its query and its fragment, where click ids stand and whatever else
 * a page says of its visitor. `eraseEvents` in erase-store.ts cuts the same in SQL.
 */
export function pageAddress(eventSource: string | null): string | null {
  return eventSource && (/^[^?#]*/.exec(eventSource)?.[0] ?? null)
}
