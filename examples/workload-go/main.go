// A workload that has no secret of its own: it receives its X.509-SVID from the SPIFFE Workload API
// (SPIFFE_ENDPOINT_SOCKET), serves mutual TLS with it, calls another workload, and calls Atrium.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/spiffetls/tlsconfig"
	"github.com/spiffe/go-spiffe/v2/svid/jwtsvid"
	"github.com/spiffe/go-spiffe/v2/workloadapi"
)

func main() {
	listen := flag.String("listen", "", "serve mutual TLS on this address, to workloads of the same trust domain")
	call := flag.String("call", "", "call the workload at this URL")
	peer := flag.String("peer", "", "SPIFFE id that the called workload must have")
	api := flag.String("api", "", "call Atrium at this URL of its mutual TLS listener")
	apiCA := flag.String("api-ca", "", "file of the certificates that Atrium's certificate is verified by")
	audience := flag.String("audience", "", "print the subject of a JWT-SVID for this audience")
	flag.Parse()
	log.SetFlags(0)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()

	source, err := workloadapi.NewX509Source(ctx)
	if err != nil {
		log.Fatalf("no X.509-SVID: %v", err)
	}
	defer source.Close()
	svid, err := source.GetX509SVID()
	if err != nil {
		log.Fatalf("no X.509-SVID: %v", err)
	}
	fmt.Println("id", svid.ID)

	if *audience != "" {
		if err := printSubject(ctx, *audience); err != nil {
			log.Fatal(err)
		}
	}
	if *call != "" {
		config := tlsconfig.MTLSClientConfig(source, source, tlsconfig.AuthorizeID(spiffeid.RequireFromString(*peer)))
		get("peer", *call, config)
	}
	if *api != "" {
		get("api", *api, apiConfig(source, *apiCA))
	}
	if *listen != "" {
		log.Fatal(serve(*listen, source, svid.ID.TrustDomain()))
	}
}

// serve tells every caller of the trust domain who it is.
func serve(address string, source *workloadapi.X509Source, domain spiffeid.TrustDomain) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println("listening", listener.Addr())
	config := tlsconfig.MTLSServerConfig(source, source, tlsconfig.AuthorizeMemberOf(domain))
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "you are %s", r.TLS.PeerCertificates[0].URIs[0])
	})
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	return server.Serve(tls.NewListener(listener, config))
}

// apiConfig presents the SVID to a server with an ordinary certificate.
func apiConfig(source *workloadapi.X509Source, caFile string) *tls.Config {
	pem, err := os.ReadFile(caFile)
	if err != nil {
		log.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		log.Fatal(errors.New("the file of -api-ca has no certificate"))
	}
	return &tls.Config{
		MinVersion:           tls.VersionTLS13,
		RootCAs:              roots,
		GetClientCertificate: tlsconfig.GetClientCertificate(source),
	}
}

func get(name, url string, config *tls.Config) {
	client := http.Client{Transport: &http.Transport{TLSClientConfig: config}, Timeout: 10 * time.Second}
	response, err := client.Get(url)
	if err != nil {
		log.Fatalf("%s: %v", name, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	if err != nil {
		log.Fatalf("%s: %v", name, err)
	}
	fmt.Println(name, response.StatusCode, string(body))
}

// printSubject obtains a JWT-SVID, and verifies it both here and by the Workload API.
func printSubject(ctx context.Context, audience string) error {
	source, err := workloadapi.NewJWTSource(ctx)
	if err != nil {
		return err
	}
	defer source.Close()
	svid, err := source.FetchJWTSVID(ctx, jwtsvid.Params{Audience: audience})
	if err != nil {
		return err
	}
	parsed, err := jwtsvid.ParseAndValidate(svid.Marshal(), source, []string{audience})
	if err != nil {
		return err
	}
	checked, err := workloadapi.ValidateJWTSVID(ctx, svid.Marshal(), audience)
	if err != nil {
		return err
	}
	fmt.Println("jwt", parsed.ID, checked.ID)
	return nil
}
