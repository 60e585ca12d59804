package atrium

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
)

const (
	maxOrganizations = 1_000
	// pause: an unknown key, or a failure, is asked about once in this time.
	pause         = 30 * time.Second
	defaultMaxAge = 5 * time.Minute
	longestMaxAge = 24 * time.Hour
	// stale is how long known keys are used while the service cannot be reached.
	stale       = time.Hour
	keysTimeout = 5 * time.Second
	maxKeyBytes = 256 * 1024
)

// publicKey is a key and the one algorithm it verifies.
type publicKey struct {
	key       crypto.PublicKey
	algorithm string
}

type keySlot struct {
	mutex      sync.Mutex
	keys       map[string]publicKey
	freshUntil time.Time
	failedAt   time.Time
	// missedAt is when the set was last fetched because of an unknown key.
	missedAt time.Time
}

// keySets fetches public keys of organizations from one service and keeps them as long as it says.
type keySets struct {
	baseURL string
	client  connect.HTTPClient
	slots   *lru[string, *keySlot]
}

func newKeySets(baseURL string, client connect.HTTPClient) *keySets {
	return &keySets{baseURL, client, newLRU[string, *keySlot](maxOrganizations)}
}

// find returns false for an unknown key, and a *TokenRefusal when the keys cannot be fetched.
func (k *keySets) find(ctx context.Context, org, kid string) (publicKey, bool, error) {
	slot := k.slots.getOrSet(org, func() *keySlot { return &keySlot{} })
	// One request at a time for an organization, which the others wait for.
	slot.mutex.Lock()
	defer slot.mutex.Unlock()
	now := time.Now()
	failed := now.Sub(slot.failedAt) < pause
	if slot.keys == nil && failed {
		return publicKey{}, false, unavailable("The keys of the organization could not be fetched a moment ago.", nil)
	}
	if slot.keys == nil || (!now.Before(slot.freshUntil) && !failed) {
		if err := k.refresh(ctx, org, slot); err != nil {
			return publicKey{}, false, err
		}
	}
	known, ok := slot.keys[kid]
	// A key made after the set was fetched verifies at once; a flood of invented ones costs one request in a while.
	if ok || failed || time.Since(slot.missedAt) < pause {
		return known, ok, nil
	}
	slot.missedAt = time.Now()
	if err := k.refresh(ctx, org, slot); err != nil {
		return publicKey{}, false, err
	}
	known, ok = slot.keys[kid]
	return known, ok, nil
}

func (k *keySets) refresh(ctx context.Context, org string, slot *keySlot) error {
	keys, age, err := k.load(ctx, org)
	if err == nil {
		slot.keys, slot.freshUntil = keys, time.Now().Add(age)
		return nil
	}
	if ctx.Err() != nil {
		// The caller gave up: that says nothing of the service.
		return unavailable("The keys of the organization cannot be fetched.", err)
	}
	slot.failedAt = time.Now()
	if slot.keys != nil && time.Now().Before(slot.freshUntil.Add(stale)) {
		return nil
	}
	return unavailable("The keys of the organization cannot be fetched.", err)
}

func (k *keySets) load(ctx context.Context, org string) (map[string]publicKey, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, keysTimeout)
	defer cancel()
	url := k.baseURL + "/api/organizations/" + org + "/.well-known/jwks.json"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, 0, err
	}
	response, err := k.client.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNotFound {
		// There is no such organization: no key of it is known.
		return map[string]publicKey{}, pause, nil
	}
	if response.StatusCode != http.StatusOK {
		return nil, 0, fmt.Errorf("%s returned %d", url, response.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxKeyBytes+1))
	if err != nil {
		return nil, 0, err
	}
	if len(body) > maxKeyBytes {
		return nil, 0, fmt.Errorf("%s is larger than %d bytes", url, maxKeyBytes)
	}
	var document struct{ Keys *[]json.RawMessage }
	if err := json.Unmarshal(body, &document); err != nil {
		return nil, 0, err
	}
	if document.Keys == nil {
		return nil, 0, fmt.Errorf("%s is not a JWK set", url)
	}
	keys := make(map[string]publicKey)
	for _, text := range *document.Keys {
		// Keys that are malformed, or of an algorithm that is not known here, are left out.
		var entry jwk
		if json.Unmarshal(text, &entry) != nil {
			continue
		}
		if key, err := entry.public(); err == nil && entry.Kid != "" {
			keys[entry.Kid] = publicKey{key, entry.Alg}
		}
	}
	return keys, maxAgeOf(response.Header.Get("cache-control")), nil
}

var maxAge = regexp.MustCompile(`(?i)(?:^|,)\s*max-age=([0-9]{1,9})`)

func maxAgeOf(cacheControl string) time.Duration {
	found := maxAge.FindStringSubmatch(cacheControl)
	if found == nil {
		return defaultMaxAge
	}
	count, _ := strconv.Atoi(found[1])
	return min(time.Duration(count)*time.Second, longestMaxAge)
}

// jwk is a public key (RFC 7517) of the kinds that the service signs with.
type jwk struct{ Kid, Alg, Kty, Crv, X, Y, N, E string }

var errUnknownKey = errors.New("the key is of a kind that is not known")

func (j jwk) public() (crypto.PublicKey, error) {
	switch {
	case j.Kty == "OKP" && j.Crv == "Ed25519" && j.Alg == "EdDSA":
		x, err := decode(j.X)
		if err != nil || len(x) != ed25519.PublicKeySize {
			return nil, errUnknownKey
		}
		return ed25519.PublicKey(x), nil
	case j.Kty == "EC" && j.Crv == "P-256" && j.Alg == "ES256":
		x, errX := decode(j.X)
		y, errY := decode(j.Y)
		if errX != nil || errY != nil {
			return nil, errUnknownKey
		}
		point := append(append([]byte{4}, pad(x, 32)...), pad(y, 32)...)
		return ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	case j.Kty == "RSA" && (strings.HasPrefix(j.Alg, "RS") || strings.HasPrefix(j.Alg, "PS")):
		n, errN := decode(j.N)
		e, errE := decode(j.E)
		if errN != nil || errE != nil || len(e) > 4 {
			return nil, errUnknownKey
		}
		exponent := new(big.Int).SetBytes(e).Int64()
		return &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(exponent)}, nil
	default:
		return nil, errUnknownKey
	}
}

func decode(text string) ([]byte, error) { return base64.RawURLEncoding.DecodeString(text) }

func pad(bytes []byte, size int) []byte {
	if len(bytes) >= size {
		return bytes
	}
	return append(make([]byte, size-len(bytes)), bytes...)
}
