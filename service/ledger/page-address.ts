/**
 * The address of a page without its query and its fragment, where click ids stand and whatever else
 * a page says of its visitor.
 */
export function pageAddress(eventSource: string | null): string | null {
  return eventSource && (/^[^?#]*/.exec(eventSource)?.[0] ?? null)
}
