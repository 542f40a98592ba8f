/** What Meta's Graph API says when it refuses a request, before it is printed as JSON. */
export interface GraphError {
  /** HTTP status; Meta answers 400 to almost everything. */
  status: number
  type: 'OAuthException' | 'GraphMethodException'
  message: string
  code: number
  subcode?: number
  isTransient?: boolean
  userTitle?: string
  userMessage?: string
  /** Path of the guilty field, as in `error_data.blame_field_specs`. */
  fieldPath?: string[]
}

/**
 * Subcodes of code 100 on the events edge. 2804003, 2804009 and 2804050 are Meta's as seen in the
 * wild; the meaning of the others is our choice, since Meta publishes none (see README.md).
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

/** The JSON body of a refusal, without the members it lacks (Graph API "Handling Errors"). */
export function graphErrorBody(refusal: GraphError, traceId: string): string {
  const {
    message,
    type,
    code,
    subcode,
    isTransient,
    userTitle,
    userMessage,
    fieldPath: blame,
  } = refusal
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
      ...(blame && { error_data: { blame_field_specs: [blame] } }),
    },
  })
}

/** Code 100 about one field of the payload. Texts never repeat what was sent. */
export function invalidParameter(
  subcode: number,
  blame: string[],
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
    fieldPath: blame,
  }
}

/** Code 190: no token, or one that was never a token. PROBE saw 401 for an unparseable token. */
function invalidToken(): GraphError {
  return {
    status: 401,
    type: 'OAuthException',
    message: 'Invalid OAuth access token',
    code: 190,
  }
}

/** Code 190 with subcode 467: a token that once worked and was taken back. */
function revokedToken(): GraphError {
  return {
    status: 401,
    type: 'OAuthException',
    message: 'Error validating access token: the session has been invalidated.',
    code: 190,
    subcode: 467,
  }
}

/** Code 100 with subcode 33: no such object, no right to it, or not this operation on it. */
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

/** Code 100 about the question itself, on the edges that only show something. */
export function invalidQueryParameter(message: string): GraphError {
  return { status: 400, type: 'OAuthException', message, code: 100 }
}

/** Code 1 with a status of the server's: how Graph is known to say that a span is too long. */
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

/** Meta documents no body limit; ours carries code 100 so that a sender makes its batch smaller. */
export function bodyTooLarge(bytesMax: number): GraphError {
  return {
    ...invalidParameter(EVENT_SUBCODES.malformed, ['data'], {
      title: 'Request Too Large',
      message: `The request body is larger than ${bytesMax} bytes.`,
    }),
    status: 413,
  }
}

/** Any token opens every dataset until a test takes it back at /_simulator/tokens. */
export function checkAccessToken(
  revokedTokens: Set<string>,
  token: string | undefined,
): GraphError | undefined {
  if (token === undefined || token === '') return invalidToken()
  return revokedTokens.has(token) ? revokedToken() : undefined
}
