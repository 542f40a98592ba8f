/** A moment as people read it in a terminal: `2026-11-21 12:00`, in UTC and without its seconds. */
export function minuteText(moment: Date): string {
  return moment.toISOString().slice(0, 16).replace('T', ' ')
}
