/** What a database adapter of better-auth is asked, as far as it matters here. */
interface Call {
  model: string
  where?: { field: string; value: unknown }[]
  data?: Record<string, unknown>
  update?: Record<string, unknown>
}

type Method = (call: Call) => Promise<unknown>
type Methods = Record<string, Method>
type Transaction = (callback: (inner: object) => unknown) => Promise<unknown>

/** Everything that takes rows or conditions; the library has no other way to the tables. */
const METHODS = [
  ...['create', 'findOne', 'findMany', 'count', 'update', 'updateMany', 'delete', 'deleteMany'],
  ...['consumeOne', 'incrementOne'],
]

/**
 * Stores the digest of a session's token where the library would store the token, and gives the
 * token back to whoever has just made or named it: a copy of the table opens nothing. Works inside
 * of its transactions too. Returns an adapter of the same shape.
 */
export function hashedSessions<Adapter extends object>(
  adapter: Adapter,
  digest: (token: string) => string,
): Adapter {
  const inner = adapter as unknown as Methods
  const wrapped: Record<string, unknown> = { ...inner }
  for (const name of METHODS) {
    const method = inner[name]
    if (method) wrapped[name] = (call: Call) => asked(method, call, digest)
  }
  const { transaction } = adapter as { transaction?: Transaction }
  if (transaction) {
    wrapped.transaction = (callback: (inner: object) => unknown) =>
      transaction(found => callback(hashedSessions(found, digest)))
  }
  return wrapped as Adapter
}

async function asked(
  method: Method,
  call: Call,
  digest: (token: string) => string,
): Promise<unknown> {
  if (call.model !== 'session') return method(call)
  const named = call.where?.find(({ field }) => field === 'token')?.value ?? call.data?.token
  const found = await method({
    ...call,
    ...(call.where && { where: call.where.map(condition => hashedCondition(condition, digest)) }),
    ...(call.data && { data: hashedRow(call.data, digest) }),
    ...(call.update && { update: hashedRow(call.update, digest) }),
  })
  const isRow = typeof found === 'object' && found !== null && 'token' in found
  return isRow && typeof named === 'string' ? { ...found, token: named } : found
}

function hashedCondition<Condition extends { field: string; value: unknown }>(
  condition: Condition,
  digest: (token: string) => string,
): Condition {
  const { field, value } = condition
  if (field !== 'token') return condition
  const hashed = Array.isArray(value) ? value.map(text => digest(String(text))) : null
  return { ...condition, value: hashed ?? digest(String(value)) }
}

function hashedRow(row: Record<string, unknown>, digest: (token: string) => string) {
  return typeof row.token === 'string' ? { ...row, token: digest(row.token) } : row
}
