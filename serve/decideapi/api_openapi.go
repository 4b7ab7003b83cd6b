package decideapi

import (
	_ "embed"
	"net/http"
)

// openAPIFile describes every HTTP interface of the server.
//
//go:embed openapi.json
var openAPIFile []byte

// openAPI answers GET /openapi.json.
func (a *API) openAPI(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusOK, openAPIFile)
	return nil
}
