/** An error of Meta's Graph API, before it is serialized as JSON. */
export interface GraphError {
  /** HTTP status; Meta returns 400 for almost every error. */
  status: number
  type: 'OAuthException' | 'GraphMethodException'
  message: string
  code: number
  subcode?: number
  isTransient?: boolean
  userTitle?: string
  userMessage?: string
  /** Path of the invalid field, as in `error_data.blame_field_specs`. */
  fieldPath?: string[]
}

/**
 * Subcodes of code 100 on the events edge. 2804003, 2804009 and 2804050 were observed at Meta. Meta
 * publishes no meaning for the others, so it is our choice (see README.md).
 */
export const EVENT_SUBCODES = {
  malformed: 2804001,
  tooOld: 2804003,
  inTheFuture: 2804004,
  badValue: 2804007,
  purchaseValueMissing: 2804009,
  notHashed: 2804016,
  unknownActionSource: 2804017,
  customerInformation: 2804050,
} as const

/** The JSON body of an error, without missing members (Graph API "Handling Errors"). */
export function graphErrorBody(error: GraphError, traceId: string): string {
  const { message, type, code, subcode, isTransient, userTitle, userMessage, fieldPath } = error
  return JSON.stringify({
    error: {
      message,
      type,
      code,
      ...(subcode !== undefined && { error_subcode: subcode }),
      ...(isTransient !== undefined && { is_transient: isTransient }),
      ...(userTitle !== undefined && { error_user_title: userTitle }),
      ...(userMessage !== undefined && { error_user_msg: userMessage }),
      fbtrace_id: traceId,
      ...(fieldPath && { error_data: { blame_field_specs: [fieldPath] } }),
    },
  })
}

/** Code 100 for one field of the payload. Messages never repeat the request. */
export function invalidParameter(
  subcode: number,
  fieldPath: string[],
  user: { title: string; message: string },
): GraphError {
  return {
    status: 400,
    type: 'OAuthException',
    message: 'Invalid parameter',
    code: 100,
    subcode,
    isTransient: false,
    userTitle: user.title,
    userMessage: user.message,
    fieldPath,
  }
}

/** Code 190: the token is missing or malformed. Meta was observed to return 401 for it. */
function invalidToken(): GraphError {
  return {
    status: 401,
    type: 'OAuthException',
    message: 'Invalid OAuth access token',
    code: 190,
  }
}

/** Code 190 with subcode 467: the token was valid and has been revoked. */
function revokedToken(): GraphError {
  return {
    status: 401,
    type: 'OAuthException',
    message: 'Error validating access token: the session has been invalidated.',
    code: 190,
    subcode: 467,
  }
}

/** Code 100 with subcode 33: the object, the permission or the operation does not exist. */
export function unsupportedRequest(method: string): GraphError {
  return {
    status: 400,
    type: 'GraphMethodException',
    message:
      `Unsupported ${method.toLowerCase()} request. The object does not exist, cannot be loaded ` +
      'due to missing permissions, or does not support this operation.',
    code: 100,
    subcode: 33,
  }
}

/** Code 100 for the query, on the read-only edges. */
export function invalidQueryParameter(message: string): GraphError {
  return { status: 400, type: 'OAuthException', message, code: 100 }
}

/** Code 1 with HTTP 500: what Graph is known to return for a range that is too long. */
export function rangeTooLong(): GraphError {
  return {
    status: 500,
    type: 'OAuthException',
    message: "Please reduce the amount of data you're asking for, then retry your request",
    code: 1,
  }
}

export function unknownVersion(): GraphError {
  return {
    status: 400,
    type: 'OAuthException',
    message: '(#2635) The path must start with a Graph API version such as v26.0.',
    code: 2635,
  }
}

export function unknownPath(): GraphError {
  return {
    status: 400,
    type: 'OAuthException',
    message: 'Unknown path components',
    code: 2500,
  }
}

/** Meta documents no body limit. Ours has code 100, so that a sender reduces its batch. */
export function bodyTooLarge(bytesMax: number): GraphError {
  return {
    ...invalidParameter(EVENT_SUBCODES.malformed, ['data'], {
      title: 'Request Too Large',
      message: `The request body is larger than ${bytesMax} bytes.`,
    }),
    status: 413,
  }
}

/** Every token is valid for every dataset until a test revokes it at /_simulator/tokens. */
export function checkAccessToken(
  revokedTokens: Set<string>,
  token: string | null | undefined,
): GraphError | undefined {
  if (!token) return invalidToken()
  return revokedTokens.has(token) ? revokedToken() : undefined
}

const BEARER = /^Bearer\s+(\S+)\s*$/i

/** The token of an Authorization header. */
export function bearerToken(authorization: string | undefined): string | undefined {
  return BEARER.exec(authorization ?? '')?.[1]
}
