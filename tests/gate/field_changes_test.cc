#include "gate/field_changes.h"

#include <gtest/gtest.h>

namespace ebb::gate {
namespace {

using wire::FieldId;

class FieldChanges : public ::testing::Test {
 protected:
  FieldChanges() {
    fields.add({"server", "nginx"});
    fields.add({"X-Kept", "1"});
    fields.add({"Server", "again"});
  }
  std::string passing() const {
    std::string text;
    for (const wire::Field& field : fields.all()) {
      if (!field.hop) text.append(field.name).append("=").append(field.value).append(" ");
    }
    return text;
  }

  wire::Fields fields;
};

TEST_F(FieldChanges, LeavesOutEveryLineOfADroppedNameAndAppends) {
  const routes::FieldEdits edits = routes::FieldEdits::of({.set = {{"Server", "ebb"}}, .add = {{"X-Kept", "2"}}});
  EXPECT_TRUE(change(fields, edits));
  EXPECT_EQ(passing(), "X-Kept=1 Server=ebb X-Kept=2 ");
}

TEST_F(FieldChanges, OfARequestLeaveOutTwinsOfWhatIsSetOrRemoved) {
  fields.add({"X_Tenant", "forged"});
  fields.add({"x.role", "forged"});
  fields.add({"X_Other", "1"});
  const routes::FieldEdits edits = routes::FieldEdits::of({.set = {{"X-Tenant", "a"}}, .remove = {"X-Role"}});
  EXPECT_TRUE(change_request(fields, edits));
  EXPECT_EQ(passing(), "server=nginx X-Kept=1 Server=again X_Other=1 X-Tenant=a ");
}

TEST_F(FieldChanges, SayWhenAHeadHasNoRoom) {
  while (fields.size() < wire::fields_max) fields.add({"X-Fill", ""});
  EXPECT_FALSE(change(fields, routes::FieldEdits::of({.set = {{"Server", "ebb"}}})));
  EXPECT_FALSE((ResponseChanges{.hsts = "max-age=1"}.apply(fields)));
}

TEST_F(FieldChanges, OfAResponseEndWithTheRoutesWordOnOriginsAndTls) {
  fields.add({"Access-Control-Allow-Origin", "*"});
  fields.add({"strict-transport-security", "max-age=0"});
  const routes::FieldEdits edits = routes::FieldEdits::of({.remove = {"server"}});
  ResponseChanges changes{.edits = &edits, .hsts = "max-age=60"};
  changes.cors = {{"access-control-allow-origin"}, {{"Access-Control-Allow-Origin", "https://a"}}};
  EXPECT_TRUE(changes.apply(fields));
  EXPECT_EQ(passing(), "X-Kept=1 Access-Control-Allow-Origin=https://a Strict-Transport-Security=max-age=60 ");
}

TEST_F(FieldChanges, OfAProbesResponseTellTheConfigurationInPlaceOfTheEndpoints) {
  fields.add({"ebbgate-generation", "99"});
  fields.add({"ebbgate-configuration", "dead"});
  const routes::ConfigurationMark mark{.generation = "7", .digest = "beef"};
  ResponseChanges changes{.mark = &mark};
  EXPECT_FALSE(changes.empty());
  EXPECT_TRUE(changes.apply(fields));
  EXPECT_EQ(passing(), "server=nginx X-Kept=1 Server=again Ebbgate-Generation=7 Ebbgate-Configuration=beef ");
}

TEST_F(FieldChanges, OfForwardingFieldsAreKnown) {
  const routes::FieldEdits edits =
      routes::FieldEdits::of({.set = {{"X-Forwarded-Proto", "https"}, {"X-Other", "1"}}, .remove = {"forwarded"}});
  const wire::FieldSet set = forwarding_in(edits);
  EXPECT_NE(set & wire::set_of(FieldId::x_forwarded_proto), 0u);
  EXPECT_NE(set & wire::set_of(FieldId::forwarded), 0u);
  EXPECT_EQ(set & wire::set_of(FieldId::x_forwarded_for), 0u);
}

}  // namespace
}  // namespace ebb::gate
