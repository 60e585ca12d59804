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
	// maxOrganizations: of those that exist, and again of those of which that is not known.
	maxOrganizations = 1_000
	// unknownAtOnce, unknownASecond: requests for organizations that may not exist. The service allows 600 a minute.
	unknownAtOnce  = 100
	unknownASecond = 5
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

// keySet is an answer of the service; it never changes.
type keySet struct {
	keys       map[string]publicKey
	freshUntil time.Time
	// exists: the service knows the organization.
	exists bool
}

// keyRequest is a request in flight; err is set before done is closed.
type keyRequest struct {
	done chan struct{}
	err  error
}

type keySlot struct {
	mutex sync.Mutex
	// exists: until the service has said so, anybody may have invented the organization: no signature was checked yet.
	exists   bool
	set      *keySet
	flight   *keyRequest
	failedAt time.Time
	// missedAt is when an unknown key was last looked for in a set that was fetched for it.
	missedAt time.Time
}

// keySets fetches public keys of organizations from one service and keeps them as long as it says.
type keySets struct {
	baseURL string
	client  connect.HTTPClient
	// anyOrg: tokens of any organization are asked for, also of such as do not exist.
	anyOrg          bool
	slots, unproven *lru[string, *keySlot]
	allowance       allowance
}

func newKeySets(baseURL string, client connect.HTTPClient, anyOrg bool) *keySets {
	return &keySets{
		baseURL: baseURL, client: client, anyOrg: anyOrg,
		slots: newLRU[string, *keySlot](maxOrganizations), unproven: newLRU[string, *keySlot](maxOrganizations),
		allowance: allowance{left: unknownAtOnce, at: time.Now()},
	}
}

// find returns false for an unknown key, and a *TokenRefusal when the keys cannot be fetched.
func (k *keySets) find(ctx context.Context, org, kid string) (publicKey, bool, error) {
	slot, ok := k.slots.get(org)
	if !ok {
		slot = k.unproven.getOrSet(org, func() *keySlot { return &keySlot{} })
	}
	slot.mutex.Lock()
	now, set, waiting := time.Now(), slot.set, slot.flight != nil
	failed := now.Sub(slot.failedAt) < pause
	slot.mutex.Unlock()
	if set == nil && failed && !waiting {
		return publicKey{}, false, unavailable("The keys of the organization could not be fetched a moment ago.", nil)
	}
	due := set == nil || (!now.Before(set.freshUntil) && !failed)
	if due {
		var err error
		if set, err = k.refresh(ctx, org, slot); err != nil {
			return publicKey{}, false, err
		}
	}
	known, ok := set.keys[kid]
	if !ok && !failed && slot.mayLookAgain(due) {
		var err error
		if set, err = k.refresh(ctx, org, slot); err != nil {
			return publicKey{}, false, err
		}
		known, ok = set.keys[kid]
	}
	return known, ok, nil
}

// mayLookAgain tells whether an unknown key is looked for in a new set: one made after the set was fetched verifies
// at once; a flood of invented ones costs one request in a while.
func (s *keySlot) mayLookAgain(justFetched bool) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.flight != nil || time.Since(s.missedAt) < pause {
		return s.flight != nil
	}
	s.missedAt = time.Now()
	return !justFetched
}

// refresh waits for a request, one at a time for an organization. It goes on when a caller gives up, for the others.
func (k *keySets) refresh(ctx context.Context, org string, slot *keySlot) (*keySet, error) {
	slot.mutex.Lock()
	defer slot.mutex.Unlock()
	if slot.flight == nil {
		if k.anyOrg && !slot.exists && !k.allowance.take() {
			return nil, unavailable("Too many organizations are asked for that are not known here.", nil)
		}
		slot.flight = &keyRequest{done: make(chan struct{})}
		go k.fetch(context.WithoutCancel(ctx), org, slot, slot.flight)
	}
	flight := slot.flight
	slot.mutex.Unlock()
	var err error
	select {
	case <-flight.done:
		err = flight.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	slot.mutex.Lock()
	if err == nil || (slot.set != nil && time.Now().Before(slot.set.freshUntil.Add(stale))) {
		return slot.set, nil
	}
	return nil, unavailable("The keys of the organization cannot be fetched.", err)
}

func (k *keySets) fetch(ctx context.Context, org string, slot *keySlot, flight *keyRequest) {
	set, err := k.load(ctx, org)
	slot.mutex.Lock()
	defer slot.mutex.Unlock()
	defer close(flight.done)
	slot.flight = nil
	if err != nil {
		slot.failedAt, flight.err = time.Now(), err
		return
	}
	slot.set = set
	if set.exists && !slot.exists {
		slot.exists = true
		k.slots.set(org, slot)
		k.unproven.delete(org)
	}
}

// allowance is a token bucket of requests.
type allowance struct {
	mutex sync.Mutex
	left  float64
	at    time.Time
}

// take tells whether one more request may be made.
func (a *allowance) take() bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	now := time.Now()
	a.left = min(unknownAtOnce, a.left+now.Sub(a.at).Seconds()*unknownASecond)
	a.at = now
	if a.left < 1 {
		return false
	}
	a.left--
	return true
}

func (k *keySets) load(ctx context.Context, org string) (*keySet, error) {
	ctx, cancel := context.WithTimeout(ctx, keysTimeout)
	defer cancel()
	url := k.baseURL + "/api/organizations/" + org + "/.well-known/jwks.json"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := k.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNotFound {
		// There is no such organization.
		return &keySet{freshUntil: time.Now().Add(pause)}, nil
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s returned %d", url, response.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxKeyBytes+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxKeyBytes {
		return nil, fmt.Errorf("%s is larger than %d bytes", url, maxKeyBytes)
	}
	var document struct{ Keys *[]json.RawMessage }
	if err := json.Unmarshal(body, &document); err != nil {
		return nil, err
	}
	if document.Keys == nil {
		return nil, fmt.Errorf("%s is not a JWK set", url)
	}
	set := &keySet{make(map[string]publicKey), time.Now().Add(maxAgeOf(response.Header.Get("cache-control"))), true}
	for _, text := range *document.Keys {
		// Keys that are malformed, or of an algorithm that is not known here, are left out.
		var entry jwk
		if json.Unmarshal(text, &entry) != nil {
			continue
		}
		if key, err := entry.public(); err == nil && entry.Kid != "" {
			set.keys[entry.Kid] = publicKey{key, entry.Alg}
		}
	}
	return set, nil
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
