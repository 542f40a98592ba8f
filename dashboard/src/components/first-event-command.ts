/** A command that sends a purchase to this service, with the secret of the tracker in `SECRET`. */
export function firstEventCommand(): string {
  return `curl ${location.origin}/api/v1/events \\
  -H "Authorization: Bearer $SECRET" -H "Content-Type: application/json" \\
  -d '{"event_id":"order-1001","event_name":"Purchase","consent_basis":"consent",
       "consent":{"advertising":"granted"},"user_data":{"em":"jane@example.com"}}'`
}
