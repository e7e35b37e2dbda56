// The keys of TLS, protocols and the PROXY protocol, on listeners, routes and backends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/load.h"

namespace ebb::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Loaded loaded(std::string_view text) {
  auto result = load_text(text, "/etc/ebbgate/gate.yaml");
  if (result) return std::move(*result);
  ADD_FAILURE() << text_of(result.error());
  return {};
}

std::vector<std::string> errors(std::string_view text) {
  std::vector<std::string> texts;
  const auto result = load_text(text, "gate.yaml");
  if (result) return texts;
  for (const Diagnostic& diagnostic : result.error()) texts.push_back(diagnostic.text());
  return texts;
}

TEST(ListenerKeys, ReadEveryProtocol) {
  const Loaded all = loaded(R"(
listeners:
  - {name: web, bind: "*:80", http2: false, connections_per_client: 100}
  - name: secure
    bind: "*:443"
    protocol: https
    certificates: [{cert: a.pem, key: a.key, ocsp: a.ocsp}]
    client_certificates: {mode: required, ca: clients.pem, crl: revoked.pem}
    proxy_protocol: {from: [10.0.0.0/8, "fd00::1"]}
  - {name: opaque, bind: "*:8443", protocol: tls-passthrough}
  - {name: mysql, bind: "*:3306", protocol: tcp, backend: db}
  - {name: dns, bind: "*:53", protocol: udp, backend: db}
backends: [{name: db}]
)");
  const auto& listeners = all.model.listeners;
  ASSERT_EQ(listeners.size(), 5u);
  EXPECT_FALSE(listeners[0].http2);
  EXPECT_EQ(listeners[0].connections_per_client, 100u);
  EXPECT_TRUE(listeners[1].http2);
  EXPECT_EQ(listeners[1].certificates[0].ocsp, "/etc/ebbgate/a.ocsp");
  EXPECT_EQ(listeners[1].client_certificates.mode, routes::ClientCertificates::required);
  EXPECT_EQ(listeners[1].client_certificates.ca, "/etc/ebbgate/clients.pem");
  EXPECT_EQ(listeners[1].client_certificates.crl, "/etc/ebbgate/revoked.pem");
  EXPECT_EQ(listeners[1].proxy_protocol_from.at(1).text(), "fd00::1/128");
  EXPECT_EQ(listeners[2].protocol, routes::Protocol::tls_passthrough);
  EXPECT_EQ(listeners[3].protocol, routes::Protocol::tcp);
  EXPECT_EQ(listeners[3].backend, "db");
  EXPECT_EQ(listeners[4].protocol, routes::Protocol::udp);
  EXPECT_THAT(files_of(all.model), ElementsAre("/etc/ebbgate/a.key", "/etc/ebbgate/a.ocsp", "/etc/ebbgate/a.pem",
                                               "/etc/ebbgate/clients.pem", "/etc/ebbgate/revoked.pem"));
}

TEST(ListenerKeys, RefuseWhatTheProtocolHasNoUseFor) {
  EXPECT_THAT(errors("listeners: [{name: a, bind: \"*:1\", protocol: tcp}]"),
              ElementsAre(HasSubstr("listeners[0].backend: a tcp listener needs a backend")));
  EXPECT_THAT(errors("listeners: [{name: a, bind: \"*:1\", protocol: tcp, backend: shp}]\nbackends: [{name: shop}]\n"),
              ElementsAre(HasSubstr("1:60: listeners[0].backend: there is no backend \"shp\"; did you mean `shop`?")));
  EXPECT_THAT(errors("listeners: [{name: a, bind: \"*:1\", backend: db}]\nbackends: [{name: db}]\n"),
              ElementsAre(HasSubstr("listeners[0].backend: an http listener finds its backends by routes")));
  EXPECT_THAT(errors("listeners: [{name: a, bind: \"*:1\", client_certificates: {mode: required, ca: a.pem}}]"),
              ElementsAre(HasSubstr("listeners[0].client_certificates: an http listener sees no client certificates")));
  EXPECT_THAT(errors("listeners: [{name: a, bind: \"*:1\", client_certificates: {}}]"),
              ElementsAre(HasSubstr("listeners[0].client_certificates: the key `mode` is missing")));
  EXPECT_THAT(
      errors("listeners: [{name: a, bind: \"*:1\", proxy_protocol: {from: [10.0.0.0/40]}}]"),
      ElementsAre(HasSubstr("listeners[0].proxy_protocol.from[0]: expected a network (the length of the mask")));
  EXPECT_THAT(errors("listeners: [{name: a, bind: \"*:1\", proxy_protocol: {}}]"),
              ElementsAre(HasSubstr("listeners[0].proxy_protocol: the key `from` is missing")));
  EXPECT_THAT(errors("listeners: [{name: a, bind: \"*:1\", protocol: tls}]"),
              ElementsAre(HasSubstr("expected `http`, `https`, `tls-passthrough`, `tcp`, `udp`, found \"tls\"")));
}

TEST(BackendKeys, ReadProtocolTlsAndProxyProtocol) {
  const Loaded all = loaded(R"(
listeners: []
routes:
  - {host: a.test, backend: secure, tls: reencrypt}
  - {host: b.test, backend: plain, tls: passthrough}
  - {host: c.test, backend: plain, tls: edge}
backends:
  - name: secure
    protocol: h2
    tls: {ca: ca.pem, name: a.internal, sni: b.internal, cert: me.pem, key: me.key}
    http2: {streams: 50, max_age: 5m}
    proxy_protocol: v2
  - {name: plain, protocol: h2c}
  - {name: loose, protocol: auto, tls: {verify: false}}
)");
  const routes::BackendModel& secure = all.model.backends[0];
  EXPECT_EQ(secure.protocol, routes::BackendProtocol::h2);
  ASSERT_TRUE(secure.tls);
  EXPECT_EQ(secure.tls->ca, "/etc/ebbgate/ca.pem");
  EXPECT_EQ(secure.tls->name, "a.internal");
  EXPECT_EQ(secure.tls->sni, "b.internal");
  EXPECT_EQ(secure.tls->certificate, "/etc/ebbgate/me.pem");
  EXPECT_EQ(secure.tls->key, "/etc/ebbgate/me.key");
  EXPECT_TRUE(secure.tls->verify);
  EXPECT_EQ(secure.http2.streams, 50u);
  EXPECT_EQ(secure.http2.max_age, std::chrono::minutes{5});
  EXPECT_EQ(secure.proxy_protocol, routes::ProxyProtocol::v2);
  EXPECT_EQ(all.model.backends[1].protocol, routes::BackendProtocol::h2c);
  EXPECT_FALSE(all.model.backends[1].tls);
  EXPECT_EQ(all.model.backends[2].protocol, routes::BackendProtocol::automatic);
  EXPECT_FALSE(all.model.backends[2].tls->verify);
  EXPECT_EQ(all.model.routes[0].tls, routes::TlsMode::reencrypt);
  EXPECT_EQ(all.model.routes[1].tls, routes::TlsMode::passthrough);
  EXPECT_THAT(files_of(all.model), ElementsAre("/etc/ebbgate/ca.pem", "/etc/ebbgate/me.key", "/etc/ebbgate/me.pem"));
}

TEST(BackendKeys, RefuseWhatContradictsItself) {
  const auto backend = [](std::string_view keys) {
    return errors("listeners: []\nbackends: [{name: a, " + std::string(keys) + "}]\n");
  };
  EXPECT_THAT(backend("tls: {}"), ElementsAre(HasSubstr("backends[0].tls.name: there is no name")));
  EXPECT_THAT(backend("protocol: h2"), ElementsAre(HasSubstr("use h2c for HTTP/2 without TLS")));
  EXPECT_THAT(backend("protocol: http2"), ElementsAre(HasSubstr("expected `http1`, `h2c`, `h2`, `auto`")));
  EXPECT_THAT(backend("proxy_protocol: v3"), ElementsAre(HasSubstr("expected `off`, `v1`, `v2`")));
  EXPECT_THAT(backend("http2: {streams: 0}"), ElementsAre(HasSubstr("backends[0].http2.streams: 0 is out of range")));
  EXPECT_THAT(
      errors("listeners: []\nroutes: [{backend: a, tls: reencrypt}]\nbackends: [{name: a}]\n"),
      ElementsAre(HasSubstr("2:28: routes[0].tls: backend \"a\" has no `tls` section; add one, or use tls: edge")));
  EXPECT_THAT(errors("listeners: []\nroutes: [{backend: a, path: /x, tls: passthrough}]\nbackends: [{name: a}]\n"),
              ElementsAre(HasSubstr("2:29: routes[0].path: the router does not decrypt a passthrough route")));
}

}  // namespace
}  // namespace ebb::config
