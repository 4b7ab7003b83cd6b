package access

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"regexp"
	"time"

	"pipe/internal/config"
)

// Settings say who may call the server.
type Settings struct {
	// Keys are the keys of callers. Without any, every caller has access.
	Keys []Key `yaml:"keys"`
	// KeysFile is a YAML file with more keys, under keys. It is read again when policies are reloaded.
	KeysFile config.Path `yaml:"keys_file"`
	// Spent is a file with the usage of keys, which keeps it over a restart. "" keeps it in memory only.
	Spent config.Path `yaml:"spent"`
	// Open lists routes that need no key, besides health checks: metrics, page, openapi.
	Open []string `yaml:"open"`
}

// Key is the key of one caller, with limits.
type Key struct {
	Name string `yaml:"name"` // for logs, metrics and the decision log
	// Key is the secret itself, as ${VAR}; or SHA256 is its SHA-256 in hexadecimal. Exactly one is set.
	Key    string        `yaml:"key"`
	SHA256 string        `yaml:"sha256"`
	Admin  bool          `yaml:"admin"`  // may reload policies
	Rate   float64       `yaml:"rate"`   // most requests per second on average; 0: no limit
	Burst  int           `yaml:"burst"`  // most requests at once; 0: as many as in one second
	Tokens int64         `yaml:"tokens"` // most tokens per period; 0: no limit
	Money  float64       `yaml:"money"`  // most money per period; 0: no limit
	Period time.Duration `yaml:"period"` // of tokens and money; 0: a day
}

// maxKeys bounds the number of keys, because every request is compared with all of them.
const maxKeys = 1000

// minKey is the least length of a key in bytes. Shorter ones can be guessed.
const minKey = 16

// keyName matches valid names of keys, which appear in logs and as labels of metrics.
var keyName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// openRoutes are the routes that Settings.Open can name.
var openRoutes = map[string]bool{"metrics": true, "page": true, "openapi": true}

// DefaultSettings need no keys.
func DefaultSettings() Settings { return Settings{} }

// Validate lists every problem of the settings. It does not read KeysFile.
func (s Settings) Validate() error {
	var p config.Problems
	for _, name := range s.Open {
		p.Check(openRoutes[name], "open: %q is not one of metrics, page, openapi", name)
	}
	p.Add(validateKeys(s.Keys))
	return p.Err()
}

// validateKeys lists every problem of keys. Its error contains no key.
func validateKeys(keys []Key) error {
	var p config.Problems
	p.Check(len(keys) <= maxKeys, "there are %d keys, more than %d", len(keys), maxKeys)
	names, digests := map[string]bool{}, map[[32]byte]string{}
	for i, k := range keys {
		p.Check(keyName.MatchString(k.Name), "keys[%d]: a key needs a name of at most 64 letters, digits, dots, dashes and underscores", i)
		p.Check(!names[k.Name], "keys[%d]: the name %s is used twice", i, k.Name)
		names[k.Name] = true
		d, err := k.digest()
		if err != nil {
			p.Check(false, "keys[%d] (%s): %v", i, k.Name, err)
			continue
		}
		p.Check(digests[d] == "", "keys[%d] (%s): it is the same key as that of %s", i, k.Name, digests[d])
		digests[d] = k.Name
		p.Check(k.Rate >= 0 && !math.IsInf(k.Rate, 0), "keys[%d] (%s): rate must not be negative", i, k.Name)
		p.Check(k.Money >= 0 && !math.IsInf(k.Money, 0), "keys[%d] (%s): money must not be negative", i, k.Name)
		p.Check(k.Burst >= 0 && k.Tokens >= 0 && k.Period >= 0, "keys[%d] (%s): burst, tokens and period must not be negative", i, k.Name)
	}
	return p.Err()
}

// digest is the SHA-256 of a key.
func (k Key) digest() (d [32]byte, err error) {
	switch {
	case k.Key != "" && k.SHA256 != "":
		return d, errors.New("it has both key and sha256")
	case k.Key != "" && len(k.Key) < minKey:
		return d, errors.New("the key is shorter than 16 bytes, so it can be guessed; `openssl rand -hex 32` makes one")
	case k.Key != "":
		return digestOf(k.Key), nil
	case k.SHA256 == "":
		return d, errors.New("it has neither key nor sha256")
	}
	b, err := hex.DecodeString(k.SHA256)
	if err != nil || len(b) != len(d) {
		return d, errors.New("sha256 is not 64 hexadecimal digits")
	}
	return [32]byte(b), nil
}

// digestOf is the SHA-256 of a key, as Key.SHA256 states it.
func digestOf(key string) [32]byte { return sha256.Sum256([]byte(key)) }
