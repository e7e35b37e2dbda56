// A client as most are written in Go: net/http, HTTP/2 by default, no time-outs. It asks the URL it is given ten times a second,
// one request after the other, and prints who answered, or why nobody did.
package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

func ask(client *http.Client, url string) (string, error) {
	response, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return strings.TrimSpace(string(body)) + " " + response.Proto, err
}

func main() {
	// With a TLS configuration of its own the transport no longer tries HTTP/2 unless it is told to.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	client := &http.Client{Transport: transport}
	for {
		if answer, err := ask(client, os.Args[1]); err != nil {
			fmt.Println("failed:", err)
		} else {
			fmt.Println(answer)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
