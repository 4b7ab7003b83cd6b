package cloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"

	"gocloud.dev/gcerrors"

	"pipe/internal/storage"
)

const behindEnd = http.StatusRequestedRangeNotSatisfiable

// answers read the status of the HTTP answer behind an error of a driver, and the name that the service gives the error, "" if
// it gives none. ok is false for errors of other drivers. Each driver adds its own.
var answers []func(err error) (status int, name string, ok bool)

// status is the status of the HTTP answer behind an error, 0 if there was none.
func status(err error) int {
	at, _ := answer(err)
	return at
}

func answer(err error) (status int, name string) {
	for _, read := range answers {
		if status, name, ok := read(err); ok {
			return status, name
		}
	}
	return 0, ""
}

// The advice for what users can mend.
const (
	adviceAccess      = "check the credentials and what they may do with this bucket: reading needs to get and list objects, writing to put and delete them"
	adviceCredentials = "give the credentials that the tools of this cloud use, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_KEY; see docs/storage.md"
	adviceReach       = "check the network, the name of the bucket, and the endpoint if the URL or the environment names one"
	adviceRegion      = "add ?region=NAME to the URL, or set AWS_REGION"
)

// explain says in one sentence what a driver reports. Errors of drivers repeat addresses, requests and headers, which
// may hold secrets. ctx is that of the request: a connection that takes too long is a context.DeadlineExceeded too.
func explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	at, name := answer(err)
	told := func(text string) string {
		if name == "" {
			return fmt.Sprintf("%s (status %d)", text, at)
		}
		return fmt.Sprintf("%s (%s)", text, name)
	}
	switch {
	case strings.Contains(strings.ToLower(name), "nosuchbucket") || name == "ContainerNotFound":
		return &storage.Fault{Msg: "there is no such bucket", Kind: fs.ErrNotExist, Advice: "check the name of the bucket; pipe makes none"}
	case at >= 500 || at == http.StatusTooManyRequests || at == http.StatusRequestTimeout || name == "ConditionalRequestConflict" || name == "SlowDown":
		return &storage.Fault{Msg: told("the service does not serve now"), Passing: true, Advice: "try again later"}
	case at == http.StatusUnauthorized, name == "InvalidAccessKeyId", name == "SignatureDoesNotMatch", name == "ExpiredToken", name == "AuthenticationFailed":
		return &storage.Fault{Msg: told("the credentials are refused"), Kind: fs.ErrPermission, Advice: adviceCredentials}
	case at == http.StatusForbidden, name == "AccessDenied":
		return &storage.Fault{Msg: told("access is denied"), Kind: fs.ErrPermission, Advice: adviceAccess}
	case at == http.StatusMovedPermanently, at == http.StatusTemporaryRedirect, name == "AuthorizationHeaderMalformed":
		return &storage.Fault{Msg: told("the bucket is in another region"), Advice: adviceRegion}
	case at == http.StatusNotFound, at == 0 && gcerrors.Code(err) == gcerrors.NotFound && !unreachable(err):
		return &storage.Fault{Msg: "there is no such object, or no such bucket", Kind: fs.ErrNotExist}
	case at == 0:
		return withoutAnswer(err)
	}
	return &storage.Fault{Msg: told("the service refuses the request")}
}

func unreachable(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) || strings.Contains(err.Error(), "no such host")
}

// withoutAnswer explains an error of a request that no service answered.
func withoutAnswer(err error) error {
	var network net.Error
	text := err.Error()
	switch {
	case isAny(text, "retrieve credentials", "EC2 IMDS", "no credential", "DefaultAzureCredential", "could not find default credentials"):
		return &storage.Fault{Msg: "no credentials were found", Kind: fs.ErrPermission, Advice: adviceCredentials}
	case unreachable(err):
		return &storage.Fault{Msg: "the service cannot be reached: its host is not known", Advice: adviceReach}
	case errors.Is(err, syscall.ECONNREFUSED):
		return &storage.Fault{Msg: "the service cannot be reached: connection refused", Passing: true, Advice: adviceReach}
	case errors.As(err, &network) && network.Timeout():
		return &storage.Fault{Msg: "the service does not answer", Passing: true, Advice: adviceReach}
	case errors.As(err, &network), isAny(text, "EOF", "connection reset", "broken pipe"), errors.Is(err, io.ErrUnexpectedEOF):
		return &storage.Fault{Msg: "the connection to the service broke", Passing: true, Advice: adviceReach}
	}
	return &storage.Fault{Msg: clean(text)}
}

func isAny(text string, parts ...string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// explainOpen explains an error of parameters or of credentials.
func explainOpen(ctx context.Context, err error) error {
	if text := err.Error(); isAny(text, "query parameter", "invalid value") {
		// what the driver says before it names the URL, whose values may be secret
		from := strings.LastIndex(text, "unknown query parameter")
		if from = max(from, strings.LastIndex(text, "invalid")); from < 0 {
			from = 0
		}
		return &storage.Fault{Msg: clean(text[from:]), Advice: "docs/storage.md lists the parameters of URLs"}
	}
	if isAny(err.Error(), "AccountName is required") {
		return &storage.Fault{Msg: "the storage account is not known", Advice: "set AZURE_STORAGE_ACCOUNT"}
	}
	return explain(ctx, err)
}

var (
	query = regexp.MustCompile(`\?[^\s"']+`)
	// secrets are the variables whose values no error may show.
	secrets = []string{
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN",
		"AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGEBLOB_CONNECTIONSTRING", "AZURE_CLIENT_SECRET",
	}
)

// clean removes parameters of URLs and secrets from the text of a driver.
func clean(text string) string {
	text = query.ReplaceAllString(text, "")
	for _, name := range secrets {
		if value := os.Getenv(name); value != "" {
			text = strings.ReplaceAll(text, value, "[key]")
		}
	}
	return text
}
