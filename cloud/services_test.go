package cloud

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"testing"

	gcs "cloud.google.com/go/storage"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"google.golang.org/api/option"

	"pipe/internal/storage"
	"pipe/internal/storage/storagetest"
)

// service returns the address of a service that tools/stores.sh has started, and skips the test elsewhere.
func service(t *testing.T, variable string) string {
	t.Helper()
	address := os.Getenv(variable)
	if address == "" {
		t.Skip("needs a service: run tools/stores.sh")
	}
	return address
}

// busyProxy passes requests on to a service, and answers 5% of them with 503.
func busyProxy(t *testing.T, address string) (proxy string) {
	t.Helper()
	to := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
	fails := some(0.05, http.StatusServiceUnavailable)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status := fails(r); status != 0 {
			http.Error(w, "refused", status)
			return
		}
		r.Host = address
		to.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// conforms checks the contract, in the bucket and in a folder of it.
func conforms(t *testing.T, at func(path string) string) {
	t.Helper()
	t.Run("whole bucket", func(t *testing.T) { storagetest.Conform(t, storagetest.Folder(t, at("conform"))) })
	t.Run("folder", func(t *testing.T) { storagetest.Conform(t, storagetest.Folder(t, at("conform/a/folder"))) })
	t.Run("parts", func(t *testing.T) { parts(t, storagetest.Folder(t, at("conform/parts"))) })
	missing(t, at("no-such-bucket/x"))
	absent(t, at("conform/none"))
}

// parts checks uploads in several parts: whole ones, and one whose body fails behind the first part.
func parts(t *testing.T, f *storage.Folder) {
	data := bytes.Repeat([]byte("0123456789abcdef"), 5<<19) // 40 MiB
	if err := f.WriteFile(t.Context(), "x", data, storage.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, err := f.ReadFile(t.Context(), "x", 1<<30); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if err := f.Write(t.Context(), "y", &broken{bytes.NewReader(data)}, storage.WriteOptions{}); err == nil || !strings.Contains(err.Error(), fs.ErrClosed.Error()) {
		t.Errorf("a body that fails: %v", err)
	}
	if info, err := f.Stat(t.Context(), "y"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a body that fails leaves %+v, %v", info, err)
	}
}

// broken fails after half of its bytes.
type broken struct{ *bytes.Reader }

func (b *broken) Read(p []byte) (int, error) {
	if int64(b.Len()) < b.Size()/2 {
		return 0, fs.ErrClosed
	}
	return b.Reader.Read(p)
}

func (b *broken) ReadAt([]byte, int64) (int, error) { return 0, fs.ErrClosed }
func (b *broken) WriteTo(io.Writer) (int64, error)  { return 0, fs.ErrClosed }

// google makes a bucket.
func google(t *testing.T, name string) {
	t.Helper()
	client, err := gcs.NewClient(t.Context(), option.WithoutAuthentication())
	if err == nil {
		err = client.Bucket(name).Create(t.Context(), "project", nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	client.Close()
}

func googleURL(path string) string { return "gs://" + path }

// TestGoogle: a service with the interface of Google Cloud Storage keeps the contract. It knows no credentials, so nothing is denied.
func TestGoogle(t *testing.T) {
	t.Setenv("STORAGE_EMULATOR_HOST", service(t, "PIPE_TEST_GOOGLE"))
	google(t, "conform")
	conforms(t, googleURL)
}

// TestGoogleBusy: the contract holds when a share of the requests is refused.
func TestGoogleBusy(t *testing.T) {
	address := service(t, "PIPE_TEST_GOOGLE")
	t.Setenv("STORAGE_EMULATOR_HOST", address)
	google(t, "busy")
	t.Setenv("STORAGE_EMULATOR_HOST", busyProxy(t, address))
	storagetest.Conform(t, storagetest.Folder(t, googleURL("busy")))
}

// The account that Azurite has for everybody.
const (
	azuriteAccount = "devstoreaccount1"
	azuriteKey     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
	wrongKey       = "d3Jvbmc="
)

// azure makes a container.
func azure(t *testing.T, address, name string) {
	t.Helper()
	t.Setenv("AZURE_STORAGE_ACCOUNT", azuriteAccount)
	t.Setenv("AZURE_STORAGE_KEY", azuriteKey)
	key, err := container.NewSharedKeyCredential(azuriteAccount, azuriteKey)
	if err != nil {
		t.Fatal(err)
	}
	client, err := container.NewClientWithSharedKeyCredential("http://"+address+"/"+azuriteAccount+"/"+name, key, nil)
	if err == nil {
		_, err = client.Create(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func azureURL(address string) func(path string) string {
	return func(path string) string { return "azblob://" + path + "?protocol=http&localemu=true&domain=" + address }
}

// TestAzure: a service with the interface of Azure Blob Storage keeps the contract.
func TestAzure(t *testing.T) {
	address := service(t, "PIPE_TEST_AZURE")
	azure(t, address, "conform")
	conforms(t, azureURL(address))
}

// TestAzureBusy: the contract holds when a share of the requests is refused.
func TestAzureBusy(t *testing.T) {
	address := service(t, "PIPE_TEST_AZURE")
	azure(t, address, "busy")
	storagetest.Conform(t, storagetest.Folder(t, azureURL(busyProxy(t, address))("busy")))
}

// TestAzureDenied: a wrong key is one error, without the key. It is a test for a process of its own, since the driver reads the key once.
func TestAzureDenied(t *testing.T) {
	address := service(t, "PIPE_TEST_AZURE")
	azure(t, address, "denied")
	t.Setenv("AZURE_STORAGE_KEY", wrongKey)
	for name, do := range operations {
		refuses(t, name+" with a wrong key", do(t, azureURL(address)("denied/x")), fs.ErrPermission, "access is denied")
	}
}

var operations = map[string]func(*testing.T, string) error{"write": write, "read": read, "list": list}

// missing checks the errors of a bucket that is not there.
func missing(t *testing.T, url string) {
	t.Helper()
	for name, do := range operations {
		refuses(t, name+" in a missing bucket", do(t, url), fs.ErrNotExist, "no such")
	}
}

// absent checks the error of an object that is not there.
func absent(t *testing.T, url string) {
	t.Helper()
	refuses(t, "a missing object", read(t, url), fs.ErrNotExist, "no such object")
}

func refuses(t *testing.T, what string, err error, kind error, text string) {
	t.Helper()
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: the error is %v", what, err)
		return
	}
	for _, secret := range []string{azuriteKey, wrongKey, "localemu", "Signature", "\n"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %q is shown: %v", what, secret, err)
		}
	}
}
