// Who gets what at every route, as HTTP statuses, written by hand. A route that is served and is not here fails the
// tests. Operations are not in this table: one answer stands for whether the gate of GraphQL was reached.
export const ROUTE_COLUMNS = [
  'nobody',
  // Another machine, without credentials.
  'nobody, elsewhere',
  // Without credentials, from a form of our own pages.
  'nobody, own form',
  'account key',
  // A session, as a script or form of our own pages sends it.
  'session',
  // The session's cookie by plain navigation: neither Origin nor our header.
  'cookie alone',
  // The session's cookie from a page elsewhere.
  'cookie, foreign page',
  // A session that was ended, from our own pages.
  'ended session',
] as const

export type RouteColumn = (typeof ROUTE_COLUMNS)[number]

export const ROUTES = `
#                                   nobody
#                                   |   nobody, elsewhere
#                                   |   |   nobody, own form
#                                   |   |   |   account key
#                                   |   |   |   |   session
#                                   |   |   |   |   |   cookie alone
#                                   |   |   |   |   |   |   cookie, foreign page
#                                   |   |   |   |   |   |   |   ended session
GET  /healthz                       200 200 200 200 200 200 200 200
GET  /readyz                        200 200 200 200 200 200 200 200

# This machine alone, while there is no token; a key of the API is none.
GET  /metrics                       200 401 200 200 200 200 200 200

POST /graphql                       401 401 401 200 200 401 401 401
POST /api/v1/:any/graphql           401 401 401 200 200 401 401 401

# Pages that show something of the person lead everybody else to the sign-in.
GET  /                              303 303 303 303 200 200 200 303
GET  /graphiql                      303 303 303 303 200 200 200 303
GET  /account/password              303 303 303 303 200 200 200 303

# Files without anything in them, and pages for whoever is not signed in yet.
GET  /pages.css                     200 200 200 200 200 200 200 200
GET  /graphiql/assets/react.js      200 200 200 200 200 200 200 200
GET  /graphiql/assets/react-dom.js  200 200 200 200 200 200 200 200
GET  /graphiql/assets/graphiql.js   200 200 200 200 200 200 200 200
GET  /graphiql/assets/graphiql.css  200 200 200 200 200 200 200 200
GET  /graphiql/assets/page.js       200 200 200 200 200 200 200 200
GET  /graphiql/assets/page.css      200 200 200 200 200 200 200 200
# (Whoever is signed in has no use for the first.)
GET  /signin                        200 200 200 200 303 303 303 200
GET  /reset                         200 200 200 200 200 200 200 200

# The link decides, and this one is made up.
GET  /welcome/:token                404 404 404 404 404 404 404 404
GET  /invitation/:token             404 404 404 404 404 404 404 404
GET  /reset/:token                  404 404 404 404 404 404 404 404

GET  /files/:id/:name               403 403 403 403 403 403 403 403
GET  /logs/:commandId/:stream       403 403 403 403 403 403 403 403

# Only who knows the secret of the workspace.
POST /hooks/github/:workspace       401 401 401 401 401 401 401 401
POST /hooks/gitlab/:workspace       401 401 401 401 401 401 401 401
POST /hooks/slack/:workspace        401 401 401 401 401 401 401 401

# A form is read when it stood on a page of ours, whoever sends it, and not otherwise. Empty ones say what is missing.
POST /signin                        403 403 401 403 401 403 403 401
POST /signout                       403 403 303 403 303 403 403 303
POST /reset                         403 403 400 403 400 403 403 400
POST /welcome/:token                403 403 404 403 404 403 403 404
POST /invitation/:token             403 403 404 403 404 403 403 404
POST /reset/:token                  403 403 404 403 404 403 403 404
POST /account/password              403 403 303 403 400 403 403 303
`
